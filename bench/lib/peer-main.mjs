/** A process of one peer: `peer-main.mjs PEER OPTIONS`. Does what the benchmark asks for over IPC, until that closes. */
import { worker as failover } from '../cases/failover.mjs';
import { worker as handOver } from '../cases/hand-over.mjs';
import { worker as held } from '../cases/held-leases.mjs';
import { worker as hotLock } from '../cases/hot-lock.mjs';
import { worker as idle } from '../cases/idle-waiters.mjs';
import { worker as throughput } from '../cases/throughput.mjs';

const [, , id, options] = process.argv;
const { open } = await import(`../peers/${id}.mjs`);
const peer = await open(JSON.parse(options));

const workers = {
  failover,
  handOver,
  held,
  hotLock,
  idle,
  throughput,
  process: { ready: () => undefined },
};

process.on('message', async ({ id: call, worker, method, argument }) => {
  try {
    process.send({ id: call, value: await workers[worker][method](peer, argument) });
  } catch (error) {
    process.send({ id: call, error: error instanceof Error ? error.stack : String(error) });
  }
});
process.on('disconnect', () => process.exit());
