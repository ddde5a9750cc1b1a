import { expect, it } from '@jest/globals';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { DocumentsClient } from '../support/documents-client.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { ServiceProcess } from '../support/service-process.js';

// In containers the servers could not reach each other by loopback addresses.
const itHere = (await findRedis()).kind === 'program' ? it : it.skip;

itHere(
  'the service keeps its locks on a cluster: 200 for who has one, 423 while somebody else does',
  async () => {
    const cluster = await startRedisCluster();
    try {
      const [first, second] = cluster.addresses.map(({ host, port }) => `${host}:${port}`);
      await using service = await ServiceProcess.start({
        REDIS_CLUSTER_NODES: `${first}, ${second}`,
        EMBED_WORKERS: '1',
      });
      const client = new DocumentsClient(service);
      const keys = await cluster.client();
      for (const id of ['a', 'b', 'c']) {
        await client.put(id, 'A text.');
        expect(await client.process(id)).toMatchObject({ status: 200 });
        expect(await keys.exists(`{lock:doc:${id}}:fence`)).toBe(1);
        await keys.set(`lock:doc:${id}`, 'somebody-else', 'PX', 30_000, 'NX');
        expect(await client.process(id)).toMatchObject({ status: 423 });
      }
    } finally {
      await cluster.stop();
    }
  },
  60_000,
);
