import { expect, it } from '@jest/globals';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { startRedis } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';
import { ServiceProcess } from '../support/service-process.js';

const program = await findRedis();
// In containers the servers could not reach each other by loopback addresses.
const itHere = program.kind === 'program' ? it : it.skip;

itHere(
  'the service finds its Redis by Sentinel, and the next one after a failover',
  async () => {
    const master = await startRedis();
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
    const sentinel = await startSentinel(master.port);
    try {
      await using service = await ServiceProcess.start({
        REDIS_SENTINELS: `127.0.0.1:1,127.0.0.1:${sentinel.port}`,
        EMBED_WORKERS: '1',
      });
      const client = new DocumentsClient(service);
      await client.put('a', 'A text.');
      expect(await client.process('a')).toMatchObject({ status: 200 });
      await master.kill();
      expect((await client.process('a')).status).toBe(503);
      await eventually(async () => (await client.process('a')).status === 200, {
        timeoutMs: 30_000,
        everyMs: 200,
      });
    } finally {
      for (const one of [sentinel, replica, master]) await one.stop();
    }
  },
  60_000,
);
