import type { Hold } from '../core/hold.js';
import type { LockLostError } from '../core/lock.errors.js';
import { after, reportCleanUp, whenLost, whenUnconsumed } from './when-lost.js';

/** How long a step may take to end once the lease is lost, in ms; then its consumer is told without it. */
const MAX_LATE_STEP_MS = 1_000;

type Request<T, R> = () => Promise<IteratorResult<T, R>>;

/**
 * An async generator under a lock: held until it is done, throws, or is returned from; every step runs
 * in the lease's context. Once the lease is lost the source is returned from (so that its `finally`
 * blocks run) and the consumer's step throws LockLostError; an error of the source's own goes first, if
 * the step ends within a second. One whose first step does not come within 10 s is given up.
 */
export class CoveredGenerator<T, R, N> implements AsyncGenerator<T, R, N> {
  private readonly stopListening: () => void;
  private stepsUnderWay = 0;
  private hasEnded = false;
  private lossToTell: LockLostError | undefined;
  private isStuck = false;
  private hasBegun = false;
  /** Ends what waits for a step of the source. */
  private readonly waiting = new Set<(lost: LockLostError) => void>();

  constructor(
    private readonly source: AsyncGenerator<T, R, N>,
    private readonly hold: Hold,
  ) {
    const lose = (lost: LockLostError) => {
      this.lossToTell = lost;
      after(MAX_LATE_STEP_MS, () => this.leaveStuck(lost));
      // A step under way sees the loss itself when it ends.
      if (this.stepsUnderWay === 0) void this.abandon().catch(reportCleanUp);
    };
    const stops = [
      whenLost(hold.lease, lose),
      whenUnconsumed(hold.lease, () => this.hasBegun, lose),
    ];
    this.stopListening = () => stops.forEach((stop) => stop());
  }

  next(...value: [] | [N]): Promise<IteratorResult<T, R>> {
    return this.step(() => this.source.next(...value));
  }

  async return(value: R | PromiseLike<R>): Promise<IteratorResult<T, R>> {
    if (this.isStuck) return { done: true, value: await value };
    return this.request(() => this.source.return(value));
  }

  throw(error: unknown): Promise<IteratorResult<T, R>> {
    return this.step(() => this.source.throw(error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(undefined as R);
  }

  private async step(request: Request<T, R>): Promise<IteratorResult<T, R>> {
    this.hasBegun = true;
    if (this.isStuck) return { done: true, value: undefined as R };
    await this.assertHeld();
    const result = await this.request(request, true);
    if (!result.done) await this.assertHeld();
    return result;
  }

  private async request(request: Request<T, R>, mustBeHeld = false): Promise<IteratorResult<T, R>> {
    this.stepsUnderWay += 1;
    let result: IteratorResult<T, R>;
    try {
      result = await this.orLoss(this.hold.enter(request));
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      this.stepsUnderWay -= 1;
    }
    if (result.done) await this.end(mustBeHeld ? { result: result.value } : undefined);
    return result;
  }

  private orLoss<S>(step: Promise<S>): Promise<S> {
    return new Promise<S>((resolve, reject) => {
      this.waiting.add(reject);
      const settled = () => void this.waiting.delete(reject);
      step.then(resolve, reject).then(settled, settled);
    });
  }

  /** Tells those who wait for a step that does not end; the source is returned from when it does. */
  private leaveStuck(lost: LockLostError): void {
    if (this.waiting.size === 0) return;
    this.isStuck = true;
    this.lossToTell = undefined;
    for (const tell of this.waiting) tell(lost);
    void this.hold.enter(() => this.source.return(undefined as R)).catch(reportCleanUp);
  }

  /** @throws LockLostError, once, as a generator throws once and is done then */
  private async assertHeld(): Promise<void> {
    try {
      if (!this.hasEnded) this.hold.lease.assertHeld();
    } catch (lost) {
      this.lossToTell = lost as LockLostError;
    }
    const lost = this.lossToTell;
    if (!lost) return;
    this.lossToTell = undefined;
    await this.abandon();
    throw lost;
  }

  private async abandon(): Promise<void> {
    if (!this.hasEnded) await this.request(() => this.source.return(undefined as R));
    await this.end();
  }

  private async end(outcome?: { readonly result: unknown }): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.stopListening();
    await this.hold.end(outcome);
  }
}

/** An object with all of an async generator's methods. */
export function isAsyncGenerator(
  value: object,
): value is AsyncGenerator<unknown, unknown, unknown> {
  const methods = ['next', 'return', 'throw', Symbol.asyncIterator] as const;
  return methods.every(
    (name) => typeof (value as Record<string | symbol, unknown>)[name] === 'function',
  );
}

/** Whether calling the function gives an async generator; false for one wrapped in another function. */
export function isAsyncGeneratorFunction(
  fn: unknown,
): fn is (...args: unknown[]) => AsyncGenerator<unknown, unknown, unknown> {
  return Object.prototype.toString.call(fn) === '[object AsyncGeneratorFunction]';
}

/**
 * The promise of an async generator, usable as that generator too: what a method gives whose async
 * generator is hidden behind another decorator's plain function.
 */
export function usableAsGenerator(promise: Promise<unknown>): Promise<unknown> {
  const generator = promise as Promise<AsyncGenerator<unknown, unknown, unknown>>;
  return Object.assign(promise, {
    next: async (...value: [] | [unknown]) => (await generator).next(...value),
    return: async (value: unknown) => (await generator).return(value),
    throw: async (error: unknown) => (await generator).throw(error),
    [Symbol.asyncIterator]: () => promise,
  });
}
