import { DatabaseUnavailableError } from '../database.errors.js';

/**
 * Gives the one connection to one user at a time, first come, first served, so that no query of one
 * async context lands in the transaction of another.
 */
export class ConnectionMutex {
  private held = false;
  private readonly waiters: (() => void)[] = [];

  constructor(private readonly waitLimitMs: number) {}

  /** @throws DatabaseUnavailableError after `waitLimitMs`: most likely somebody waits for himself */
  async lock(): Promise<void> {
    if (!this.held) {
      this.held = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiters.splice(this.waiters.indexOf(granted), 1);
        reject(
          new DatabaseUnavailableError(
            `the one SQLite connection was not free for ${this.waitLimitMs} ms. A transaction holds it: inside, use the transaction's own handle and await nothing but its queries.`,
          ),
        );
      }, this.waitLimitMs);
      const granted = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiters.push(granted);
    });
  }

  /** Hands the connection to the longest waiter, if any. */
  unlock(): void {
    const next = this.waiters.shift();
    if (next === undefined) this.held = false;
    else next();
  }
}
