/** A candidate of a search. */
export interface Candidate {
  readonly seq: number;
  readonly score: number;
}

/** The best `limit` of any number of candidates, in the memory of `limit`. */
export class BestHits {
  private readonly best: Candidate[] = [];

  constructor(private readonly limit: number) {}

  /** Best first, equal scores by `seq`. */
  get candidates(): readonly Candidate[] {
    return this.best;
  }

  offer(candidate: Candidate): void {
    const last = this.best.at(-1);
    if (this.best.length >= this.limit && last !== undefined && !precedes(candidate, last)) return;
    const place = this.best.findIndex((each) => precedes(candidate, each));
    this.best.splice(place === -1 ? this.best.length : place, 0, candidate);
    if (this.best.length > this.limit) this.best.pop();
  }
}

function precedes(a: Candidate, b: Candidate): boolean {
  return a.score > b.score || (a.score === b.score && a.seq < b.seq);
}
