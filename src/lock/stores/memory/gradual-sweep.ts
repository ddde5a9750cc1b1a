/** Entries looked at by each step: so many that a round ends before the map has grown by half. */
const ENTRIES_PER_STEP = 4;

/**
 * Goes round the entries of a map, a few at each step, so that those which are over are forgotten and no
 * step takes longer than another, however large the map.
 */
export class GradualSweep<K, V, T> {
  private rest: Iterator<[K, V]>;

  constructor(
    private readonly map: ReadonlyMap<K, V>,
    /** Deletes the entry from the map if it is over. */
    private readonly look: (key: K, value: V, now: T) => void,
  ) {
    this.rest = map.entries();
  }

  step(now: T): void {
    for (let n = 0; n < ENTRIES_PER_STEP; n += 1) {
      const { done, value } = this.rest.next();
      if (done) {
        this.rest = this.map.entries();
        return;
      }
      this.look(value[0], value[1], now);
    }
  }
}
