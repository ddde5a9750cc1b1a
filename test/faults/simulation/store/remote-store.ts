import type {
  LockStore,
  Place,
  Renewal,
  TokenOf,
  WakeListener,
} from '../../../../src/lock/core/lock-store.js';
import type { Link } from './link.js';
import type { Server } from './server.js';

/** The store as one process sees it, at the other end of its link. */
export class RemoteStore implements LockStore {
  readonly kind = 'simulated';
  readonly capabilities = {
    fairWaiting: true,
    waiterTickets: true,
    confirmedGrants: false,
    fencesSurviveLoss: true,
    serverTime: true,
    ttlStepMs: 1,
  };
  /** The engine's own name for its process; undefined until it listens. */
  engine: string | undefined;
  readonly tryAcquireAll: LockStore['tryAcquireAll'];
  private readonly onReconnects = new Set<() => void>();
  private wakeListener: WakeListener | undefined;

  constructor(
    private readonly link: Link,
    private readonly server: Server,
    takesSets: boolean,
  ) {
    if (takesSets) this.tryAcquireAll = (locks, ttlMs) => this.askForAll(locks, ttlMs);
  }

  /** The link is there again: whatever may have been missed is looked at. */
  reconnected(): void {
    this.link.announce(() => {
      for (const listener of this.onReconnects) listener();
      this.wakeListener?.(undefined, 'turn');
    });
  }

  tryAcquire = (name: string, token: string, ttlMs: number, place?: Place) =>
    this.link.ask(
      `acquire ${name}`,
      (store) => store.tryAcquire(name, token, ttlMs, place),
      (reply) => {
        if (reply.status === 'granted') this.server.ghosts.add(token);
      },
    );

  renew = async (renewals: readonly Renewal[]) => {
    const what = `renew ${renewals.map(({ name }) => name).join('+')}`;
    return this.link
      .ask(what, (store) => store.renew(renewals))
      .catch(() => renewals.map(() => 'unknown' as const));
  };

  release = (name: string, token: string, process: string) =>
    this.link.ask(`release ${name}`, (store) => store.release(name, token, process));

  leave = (name: string, process: string) =>
    this.link.ask(`leave ${name}`, (store) => store.leave(name, process));

  inspect = (name: string) => this.link.ask(`inspect ${name}`, (store) => store.inspect(name));

  list = () => this.server.contents.list();

  revoke = (name: string, token: string, process: string) =>
    this.link.ask(`revoke ${name}`, (store) => store.revoke(name, token, process));

  onWake = (process: string, listener: WakeListener) => {
    this.engine = process;
    this.wakeListener = listener;
    this.server.listen(process, (name, role, token) => {
      this.link.tell(`${role} of ${name ?? 'all'} message`, () =>
        this.wakeListener?.(name, role, token),
      );
    });
    return () => {
      this.wakeListener = undefined;
    };
  };

  onReconnect = (listener: () => void) => {
    this.onReconnects.add(listener);
    return () => this.onReconnects.delete(listener);
  };

  start = async () => undefined;
  close = async () => undefined;

  private askForAll(locks: readonly TokenOf[], ttlMs: number) {
    return this.link.ask(
      `acquire ${locks.map(({ name }) => name).join('+')}`,
      async (store) => {
        if (!store.tryAcquireAll) throw new Error('this store takes one lock at a time');
        return store.tryAcquireAll(locks, ttlMs);
      },
      (reply) => {
        if (reply.status === 'granted')
          for (const { token } of locks) this.server.ghosts.add(token);
      },
    );
  }
}
