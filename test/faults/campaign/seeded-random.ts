/** Choices that depend on the seed and the stream's name alone (splitmix32 over a hash of both). */
export class SeededRandom {
  private state: number;

  constructor(seed: number, stream: string) {
    let hash = seed | 0;
    for (const character of stream) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x9e3779b1) | 0;
    }
    this.state = hash;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True that often. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of them. @throws when there is none */
  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('There is nothing to pick from.');
    return item;
  }

  /** All of them, in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, rank: this.next() }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ item }) => item);
  }
}
