/** Work that goes on until a test lets it, and tells when it has begun. */
export class Gate {
  private readonly entries: (() => void)[] = [];
  private waiting: (() => void)[] = [];
  private isOpen = false;
  /** How many have come in so far. */
  entered = 0;

  /** To be awaited by the work. */
  async pass(): Promise<void> {
    this.entered += 1;
    for (const entry of this.entries.splice(0)) entry();
    if (!this.isOpen) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Resolves when the next (or, if one is inside, a) piece of work has come in. */
  async reached(): Promise<void> {
    if (this.waiting.length > 0) return;
    await new Promise<void>((resolve) => this.entries.push(resolve));
  }

  /** Lets everybody inside go on. */
  release(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Lets everybody through from now on. */
  open(): void {
    this.isOpen = true;
    this.release();
  }
}
