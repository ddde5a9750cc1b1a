import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EtcdLockStore, LockManager, type LockStore } from '../../src/lock/index.js';
import { type EtcdCluster, startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { MINUTE_MS, redlockNodes } from '../support/redlock.js';
import { confirmedStores, replicatedPair } from '../support/redis-wait.js';
import { canReplicate } from '../support/replication.js';

/** The next call of the method is held up, as by a slow connection, until it is let go. */
function holdUp(
  target: object,
  method: string,
): { isHeld: () => boolean; letGo: () => Promise<void> } {
  const methods = target as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const real = methods[method]?.bind(target);
  let letGo: (() => Promise<void>) | undefined;
  jest.spyOn(methods, method).mockImplementationOnce(
    (...args) =>
      new Promise((resolve, reject) => {
        letGo = async () => real?.(...args).then(resolve, reject);
      }),
  );
  return { isHeld: () => letGo !== undefined, letGo: async () => letGo?.() };
}

const partOf = (store: object, name: string) => (store as Record<string, object>)[name] as object;

/** A waiter is refused, then granted; what the store did to undo the refused try arrives only now. */
async function expectUnharmed(
  store: LockStore,
  { undoing, refuse }: { undoing: ReturnType<typeof holdUp>; refuse: () => Promise<() => unknown> },
): Promise<void> {
  const locks = new LockManager({ store });
  const admit = await refuse();
  const taking = locks.acquire('doc:1', { ttlMs: MINUTE_MS, waitMs: 30_000 });
  await eventually(() => undoing.isHeld());
  await admit();
  const lease = await taking;
  await undoing.letGo();
  expect(await locks.inspect('doc:1')).toMatchObject({ fence: lease.fence });
  expect(await lease.extend(MINUTE_MS)).toBe(true);
  expect(await lease.release()).toBe('released');
  await eventually(async () => (await locks.inspect('doc:1')) === null);
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('what etcd undoes late', () => {
  let etcd: EtcdCluster;
  beforeEach(async () => {
    etcd = await startEtcd();
  }, 60_000);
  afterEach(() => etcd.stop());

  it('is the lease of the busy try, and not that of the next grant', async () => {
    const store = new EtcdLockStore({ endpoints: etcd.endpoints });
    const other = new EtcdLockStore({ endpoints: etcd.endpoints });
    try {
      await store.start();
      const held = await new LockManager({ store: other }).acquire('doc:1');
      await expectUnharmed(store, {
        undoing: holdUp(partOf(store, 'leases'), 'revoke'),
        refuse: async () => () => held.release(),
      });
    } finally {
      await Promise.all([store.close(), other.close()]);
    }
  }, 60_000);
});

describe('what Redlock undoes late', () => {
  const { open, admins } = redlockNodes();

  it('is the refused round on a node, and not the next grant', async () => {
    const store = await open();
    const [node = store] = partOf(store, 'nodes') as object[];
    const foreign = admins.slice(1);
    await Promise.all(foreign.map((admin) => admin.set('lock:doc:1', 'foreign', 'PX', MINUTE_MS)));
    const last = foreign.slice(0, 2); // with the first node just a quorum
    await expectUnharmed(store, {
      undoing: holdUp(node, 'release'),
      refuse: async () => () => Promise.all(last.map((admin) => admin.del('lock:doc:1'))),
    });
  }, 60_000);
});

const describeHere = (await canReplicate()) ? describe : describe.skip;

describeHere('what redis-wait undoes late', () => {
  const stores = confirmedStores();
  const pair = replicatedPair(stores);
  afterEach(() => pair.replica.resume());

  it('is the unconfirmed grant, and not the next one', async () => {
    const store = await stores.open(pair.client, { confirmTimeoutMs: 300 });
    await expectUnharmed(store, {
      undoing: holdUp(partOf(store, 'plain'), 'release'),
      refuse: async () => {
        await pair.replica.pause();
        return () => pair.replica.resume();
      },
    });
  }, 60_000);
});
