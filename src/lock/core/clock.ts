/**
 * A point in time on both clocks. The monotonic one is immune to steps of the wall clock; the wall
 * clock goes on while the machine is suspended. Elapsed time is the larger of the two differences.
 */
export interface Instant {
  /** Milliseconds of the operating system's monotonic clock, since some moment of this thread's own. */
  readonly monoMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly wallMs: number;
}

/** Ends a timer; harmless when it has already fired. */
export type CancelTimer = () => void;

/** The only source of time and of timers in the lock module. */
export interface Clock {
  /** Now, on both clocks. */
  now(): Instant;
  /**
   * Calls `run` once after `delayMs`. A timer does not keep the process alive unless `keepAlive`
   * says so; a delay beyond 2^31-1 ms is cut to that (Node would fire it at once).
   */
  setTimer(run: () => void, delayMs: number, keepAlive?: boolean): CancelTimer;
  /**
   * Calls `run` once what has arrived already (replies, messages) has been read. What a timer decides, it
   * decides then: after a busy stretch of the event loop timers fire before sockets are read.
   */
  afterInput(run: () => void): void;
  /** From 0 to less than `mostMs`: what is added to a pause so that many processes do not end theirs at once. */
  jitterMs(mostMs: number): number;
}

/** The longest delay a timer of Node can have, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export class SystemClock implements Clock {
  now(): Instant {
    return { monoMs: performance.now(), wallMs: Date.now() };
  }

  setTimer(run: () => void, delayMs: number, keepAlive = false): CancelTimer {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS));
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  }

  /** Two rounds of the event loop: one to read, one for what is put together from what was read (TLS, HTTP/2). */
  afterInput(run: () => void): void {
    setImmediate(() => setImmediate(run));
  }

  jitterMs(mostMs: number): number {
    return Math.random() * mostMs;
  }
}

/** The instant `ms` milliseconds after (or, when negative, before) `instant`, on both clocks. */
export function plusMs(instant: Instant, ms: number): Instant {
  return { monoMs: instant.monoMs + ms, wallMs: instant.wallMs + ms };
}

/** Milliseconds from `now` to `deadline`, by the clock that says less; negative once it has passed. */
export function remainingMs(deadline: Instant, now: Instant): number {
  return Math.min(deadline.monoMs - now.monoMs, deadline.wallMs - now.wallMs);
}

/** Milliseconds that have passed since `start`, by the clock that says more. */
export function elapsedMs(start: Instant, now: Instant): number {
  return Math.max(now.monoMs - start.monoMs, now.wallMs - start.wallMs);
}

const abortListeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` once when `signal` aborts; not where it has aborted before. Returns what ends it. Costs
 * the same however many share the signal, which an EventTarget's own listeners do not: it walks through
 * all of them to add or remove one.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let listeners = abortListeners.get(signal);
  if (!listeners) {
    const added = new Set<() => void>();
    listeners = added;
    abortListeners.set(signal, added);
    signal.addEventListener(
      'abort',
      () => {
        for (const one of added) one();
      },
      { once: true },
    );
  }
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Resolves after `delayMs`, or as soon as `signal` aborts (it never rejects: look at the signal).
 * Keeps the process alive only when `keepAlive` is set.
 */
export function sleep(
  clock: Clock,
  delayMs: number,
  signal?: AbortSignal,
  keepAlive = false,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      stopListening?.();
      resolve();
    };
    const cancel = clock.setTimer(done, delayMs, keepAlive);
    const stopListening = signal && onAbort(signal, done);
  });
}
