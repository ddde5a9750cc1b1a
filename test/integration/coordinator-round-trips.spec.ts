import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EtcdLockStore, type LockStore, ZookeeperLockStore } from '../../src/lock/index.js';
import { startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { startZookeeper } from '../support/zookeeper.js';

const TIMES = 20;
const TTL_MS = 10_000;
const many = Array.from({ length: 64 }, (_, index) => ({
  name: `doc:many:${index}`,
  token: `token.${index}.label`,
}));

/** What a row of the table is about: what is done before, and what is counted. */
interface Operation {
  before?(store: LockStore): Promise<unknown>;
  counted(store: LockStore): Promise<unknown>;
  /** How often `counted` does what the row says. */
  readonly times: number;
}

const repeat = async (operate: (index: number) => Promise<unknown>) => {
  for (let index = 0; index < TIMES; index += 1) await operate(index);
};
const take = (store: LockStore, name: string, token: string) =>
  store.tryAcquire(name, token, TTL_MS);

const operations: Readonly<Record<string, Operation>> = {
  'take a lock for the first time, and release it': {
    counted: (store) =>
      repeat(async (index) => {
        await take(store, `doc:${index}`, `t${index}.p.l`);
        await store.release(`doc:${index}`, `t${index}.p.l`, 'p');
      }),
    times: TIMES,
  },
  'be told that it is busy': {
    before: (store) => take(store, 'doc:busy', 't.p.l'),
    counted: (store) => repeat((index) => take(store, 'doc:busy', `u${index}.q.l`)),
    times: TIMES,
  },
  'renew 64 locks': {
    before: (store) => Promise.all(many.map(({ name, token }) => take(store, name, token))),
    counted: (store) => store.renew(many.map((one) => ({ ...one, ttlMs: TTL_MS }))),
    times: 1,
  },
};

const [, section = ''] = readFileSync('docs/stores.md', 'utf8').split('what they cost\n');
const rows = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, operation]) => operation !== undefined && operation in operations);

/** Does everything in turn, and compares what the servers were asked for with a column of the table. */
async function expectCosts(
  store: LockStore,
  calls: () => Promise<number>,
  columnOf: (row: readonly string[]) => string | undefined,
): Promise<void> {
  for (const row of rows) {
    const operation = operations[row[1] ?? ''] as Operation;
    await operation.before?.(store);
    const earlier = await calls();
    await operation.counted(store);
    // What is done in the background counts as well.
    const wanted = Number(columnOf(row)) * operation.times;
    await eventually(
      async () => {
        expect((await calls()) - earlier).toBe(wanted);
        return true;
      },
      {
        what: `as many calls as docs/stores.md says: ${row[1]}`,
      },
    );
  }
}

describe('the table of calls to etcd and ZooKeeper', () => {
  it('names every operation', () => {
    expect(rows.map(([, operation]) => operation)).toEqual(Object.keys(operations));
  });

  it('says what etcd counted', async () => {
    const etcd = await startEtcd();
    const store = new EtcdLockStore({ endpoints: etcd.endpoints });
    try {
      await store.start();
      const calls = async () => {
        const metrics = await (await fetch(`${etcd.endpoints[0]}/metrics`)).text();
        const started =
          /^grpc_server_msg_received_total\{.*grpc_service="etcdserverpb\.(?:KV|Lease)".*\} (\S+)$/gm;
        return [...metrics.matchAll(started)].reduce((sum, [, count]) => sum + Number(count), 0);
      };
      await expectCosts(store, calls, ([, , etcdCalls]) => etcdCalls);
    } finally {
      await store.close();
      await etcd.stop();
    }
  }, 90_000);

  it('says what ZooKeeper was sent', async () => {
    const ensemble = await startZookeeper();
    const store = new ZookeeperLockStore({ servers: ensemble.servers, ttlMs: TTL_MS });
    try {
      await store.start();
      const sent = countPackets(store);
      await expectCosts(
        store,
        async () => sent(),
        ([, , , zookeeperCalls]) => zookeeperCalls,
      );
    } finally {
      await store.close();
      await ensemble.stop();
    }
  }, 90_000);
});

/** The requests that a store's client sends from now on; the session's own pings have no body. */
function countPackets(store: ZookeeperLockStore): () => number {
  const { session } = store as unknown as {
    session: {
      client: {
        connectionManager: { queue: (request: { payload?: unknown }, ...rest: unknown[]) => void };
      };
    };
  };
  const { connectionManager } = session.client;
  const queue = connectionManager.queue;
  let sent = 0;
  connectionManager.queue = function (request, ...rest) {
    if (request.payload) sent += 1;
    queue.call(this, request, ...rest);
  };
  return () => sent;
}
