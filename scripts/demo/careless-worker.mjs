/**
 * A worker as nobody should write it: it takes the lock of a document and never looks at its lease
 * again. Argument: {redisUrl, dataDir, id, ttlMs} as JSON. It says its fence once it holds the lock,
 * waits for a line on its input, publishes, and says what came of it.
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';

const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);
const { LockManager, RedisLockStore, redisLockClientOptions } = await built('lock/index.js');
const { Database } = await built('database/index.js');
const { DocumentRunsRepository } = await built('documents/document-runs.repository.js');

const { redisUrl, dataDir, id, ttlMs } = JSON.parse(process.argv[2]);
const client = new Redis(redisUrl, redisLockClientOptions);
await once(client, 'ready');
const database = await Database.open({ dataDir });
const locks = new LockManager({
  store: new RedisLockStore({ client }),
  instanceId: 'careless',
  defaults: { ttlMs, commandTimeoutMs: Math.floor(ttlMs / 3) },
});
const runs = new DocumentRunsRepository(database);

const lease = await locks.acquire(`doc:${id}`);
await runs.begin(id, lease.fence, 'careless');
process.stdout.write(`holds ${lease.fence}\n`);
await once(process.stdin, 'data');
const made = { pages: 1, chunks: 0, processedHash: 'what the careless worker made' };
const outcome = await runs.publish(id, lease.fence, made).then(
  () => 'written',
  (error) => error.code ?? String(error),
);
process.stdout.write(`outcome ${outcome}\n`);
await lease.release();
client.disconnect();
await database.close();
process.exit(0);
