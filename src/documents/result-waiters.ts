interface Waiter<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Callers that wait for what comes of something that has a name; one for each name. */
export class ResultWaiters<Result> {
  private readonly waiters = new Map<string, Waiter<Result>>();

  /** For what somebody waits. */
  get names(): string[] {
    return [...this.waiters.keys()];
  }

  /** The result under that name. An earlier caller that still waits for it shares it. */
  add(name: string): Promise<Result> {
    const earlier = this.waiters.get(name);
    return new Promise((resolve, reject) => {
      this.waiters.set(name, {
        resolve: (result) => {
          earlier?.resolve(result);
          resolve(result);
        },
        reject: (error) => {
          earlier?.reject(error);
          reject(error);
        },
      });
    });
  }

  /** @returns false where nobody waits */
  resolve(name: string, result: Result): boolean {
    const waiter = this.take(name);
    waiter?.resolve(result);
    return waiter !== undefined;
  }

  /** @returns false where nobody waits */
  reject(name: string, error: unknown): boolean {
    const waiter = this.take(name);
    waiter?.reject(error);
    return waiter !== undefined;
  }

  /** Rejects all callers whose name passes. */
  rejectAll(error: unknown, passes: (name: string) => boolean): void {
    for (const name of this.names.filter(passes)) this.reject(name, error);
  }

  private take(name: string): Waiter<Result> | undefined {
    const waiter = this.waiters.get(name);
    this.waiters.delete(name);
    return waiter;
  }
}
