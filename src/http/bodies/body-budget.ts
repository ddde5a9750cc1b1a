/** What of memory bodies under way may take together, and those of one client. */
export interface BudgetTerms {
  readonly maxBytes: number;
  readonly maxBytesPerClient: number;
}

/** All bodies under way take as much memory as they may. */
export class BodiesFullError extends Error {
  readonly code = 'bodies_full';

  constructor() {
    super('Too many large requests and answers are under way here. Repeat it after Retry-After.');
    this.name = 'BodiesFullError';
  }
}

/** Counts the memory of the bodies that are under way, in requests and in answers. */
export class BodyBudget {
  private readonly byClient = new Map<string, number>();
  private taken = 0;

  constructor(private readonly terms: BudgetTerms) {}

  /**
   * Takes what a body costs; the function that is given back returns it, once however often it is called.
   * @throws BodiesFullError
   */
  take(client: string, bytes: number): () => void {
    const ofClient = this.byClient.get(client) ?? 0;
    const { maxBytes, maxBytesPerClient } = this.terms;
    if (this.taken + bytes > maxBytes || ofClient + bytes > maxBytesPerClient) {
      throw new BodiesFullError();
    }
    this.add(client, bytes);
    let isTaken = true;
    return () => {
      if (isTaken) this.add(client, -bytes);
      isTaken = false;
    };
  }

  private add(client: string, bytes: number): void {
    this.taken += bytes;
    const ofClient = (this.byClient.get(client) ?? 0) + bytes;
    if (ofClient > 0) this.byClient.set(client, ofClient);
    else this.byClient.delete(client);
  }
}
