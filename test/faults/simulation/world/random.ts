/** Numbers that depend on the seed and the stream's name alone (mulberry32 over an FNV-1a hash of both). */
export class Random {
  private state: number;

  constructor(seed: number, stream: string) {
    let hash = 2_166_136_261;
    for (const character of `${seed}/${stream}`) {
      hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619);
    }
    this.state = hash;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** As often from 1 to 10 as from 10 to 100. */
  spread(least: number, most: number): number {
    return least * (most / least) ** this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of them; those that come twice are twice as likely. */
  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }
}
