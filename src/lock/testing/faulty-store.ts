import type {
  GrantStore,
  LockStore,
  PermitStore,
  Place,
  StoreCapabilities,
  WakeListener,
} from '../core/lock-store.js';
import { LockUnavailableError } from '../core/lock.errors.js';

type Operation =
  'tryAcquire' | 'tryAcquireAll' | 'renew' | 'release' | 'leave' | 'inspect' | 'revoke';

/**
 * What happens to one operation: `lose-request` never reaches the store and `lose-reply` is done but
 * never answered (neither ever settles); `delay-request` reaches the store when `deliver` is called;
 * `delay-reply` is done at once and answered then; `refuse` fails at once without effect.
 */
export type Fault = 'lose-request' | 'lose-reply' | 'delay-request' | 'delay-reply' | 'refuse';

/** A store that misbehaves as told, between an engine and a real store. */
export class FaultyStore implements LockStore {
  readonly kind: string;
  readonly capabilities: StoreCapabilities;
  readonly undoesTries: boolean;
  /** Absent where the inner store cannot. */
  readonly tryAcquireAll?: NonNullable<LockStore['tryAcquireAll']>;
  /** Absent where the inner store cannot. Its faults are those of the same operations of locks. */
  readonly semaphores?: NonNullable<LockStore['semaphores']>;
  /** While true, every wake-up is lost. */
  deaf = false;
  /** Operations that the engine has asked for, in order. */
  readonly asked: Operation[] = [];
  private readonly faults = new Map<Operation, Fault[]>();
  private readonly standing = new Map<Operation, Fault>();
  private readonly delayed: (() => void)[] = [];
  private readonly reconnectListeners = new Set<() => void>();

  constructor(private readonly inner: LockStore) {
    this.kind = inner.kind;
    this.capabilities = inner.capabilities;
    this.undoesTries = inner.undoesTries ?? false;
    const together = inner.tryAcquireAll?.bind(inner);
    if (together) {
      this.tryAcquireAll = (locks, ttlMs) =>
        this.pass('tryAcquireAll', () => together(locks, ttlMs));
    }
    const semaphores = inner.semaphores?.bind(inner);
    if (semaphores) this.semaphores = (permits) => this.permits(semaphores(permits));
  }

  /** The next `operation` meets `fault`; several calls queue up. */
  next(operation: Operation, fault: Fault): void {
    this.faults.set(operation, [...(this.faults.get(operation) ?? []), fault]);
  }

  /** Every `operation` meets `fault`, until `heal`. */
  always(operation: Operation, fault: Fault): void {
    this.standing.set(operation, fault);
  }

  heal(): void {
    this.standing.clear();
    this.faults.clear();
  }

  /** What was delayed arrives, in order. */
  deliver(): void {
    for (const arrive of this.delayed.splice(0)) arrive();
  }

  reconnect(): void {
    for (const listener of this.reconnectListeners) listener();
  }

  start = () => this.inner.start();
  tryAcquire = (name: string, token: string, ttlMs: number, place?: Place) =>
    this.pass('tryAcquire', () => this.inner.tryAcquire(name, token, ttlMs, place));
  renew = (renewals: Parameters<LockStore['renew']>[0]) =>
    this.pass('renew', () => this.inner.renew(renewals));
  release = (name: string, token: string, process: string) =>
    this.pass('release', () => this.inner.release(name, token, process));
  leave = (name: string, process: string) =>
    this.pass('leave', () => this.inner.leave(name, process));
  inspect = (name: string) => this.pass('inspect', () => this.inner.inspect(name));
  list = () => this.inner.list();
  revoke = (name: string, token: string, process: string) =>
    this.pass('revoke', () => this.inner.revoke(name, token, process));
  onWake = (process: string, listener: WakeListener) => this.heard(this.inner, process, listener);
  onReconnect = (listener: () => void) => {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  };
  close = () => this.inner.close();

  private permits(inner: PermitStore): PermitStore {
    return {
      kind: inner.kind,
      tryAcquire: (...args) => this.pass('tryAcquire', () => inner.tryAcquire(...args)),
      renew: (renewals) => this.pass('renew', () => inner.renew(renewals)),
      release: (...args) => this.pass('release', () => inner.release(...args)),
      leave: (...args) => this.pass('leave', () => inner.leave(...args)),
      holders: (name) => this.pass('inspect', () => inner.holders(name)),
      onWake: (process, listener) => this.heard(inner, process, listener),
      onReconnect: this.onReconnect,
    };
  }

  private heard(inner: GrantStore, process: string, listener: WakeListener): () => void {
    return inner.onWake(process, (name, role, token) => {
      if (!this.deaf) listener(name, role, token);
    });
  }

  private pass<T>(operation: Operation, act: () => Promise<T>): Promise<T> {
    this.asked.push(operation);
    const fault = this.faults.get(operation)?.shift() ?? this.standing.get(operation);
    switch (fault) {
      case undefined:
        return act();
      case 'refuse':
        return Promise.reject(
          new LockUnavailableError(undefined, 'refused by the test', { mayHaveRun: false }),
        );
      case 'lose-request':
        return new Promise(() => undefined);
      case 'lose-reply':
        return new Promise((_resolve, reject) => {
          act().catch(reject);
        });
      case 'delay-request':
        return new Promise((resolve, reject) => {
          this.delayed.push(() => {
            act().then(resolve, reject);
          });
        });
      case 'delay-reply': {
        const done = act();
        return new Promise((resolve) => {
          this.delayed.push(() => resolve(done));
        });
      }
    }
  }
}
