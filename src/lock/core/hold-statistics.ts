const MOST_FAMILIES = 1_000;
const WEIGHT_OF_NEWEST = 0.2;

/** The mean of recent holds per family of names (the part before the first `:`), for Retry-After. */
export class HoldStatistics {
  private readonly means = new Map<string, number>();

  record(family: string, heldMs: number): void {
    const mean = this.means.get(family);
    if (mean === undefined && this.means.size === MOST_FAMILIES) {
      this.means.delete(this.means.keys().next().value as string); // the oldest one
    }
    this.means.set(family, mean === undefined ? heldMs : mean + WEIGHT_OF_NEWEST * (heldMs - mean));
  }

  /**
   * When a next try is likely to succeed, in ms: the mean hold less the time held so far, and a mean
   * hold for each waiter ahead; at most the holder's remaining life, 0 where nothing is known.
   */
  retryAfterMs(
    family: string,
    heldForMs: number | undefined,
    remainingMs: number | undefined,
    waitersAhead: number,
  ): number {
    const mean = this.means.get(family);
    if (mean === undefined || heldForMs === undefined) return 0;
    const estimate = Math.max(0, mean - heldForMs) + mean * waitersAhead;
    return Math.min(estimate, remainingMs ?? estimate);
  }
}
