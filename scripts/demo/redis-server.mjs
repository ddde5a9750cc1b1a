import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { docker } from '../support/installed.mjs';
import { freePort } from '../support/free-port.mjs';
import { ensureRedis } from '../support/redis-program.mjs';
import { until } from '../support/until.mjs';

/**
 * A Redis of the demo's own on a free loopback port, and a client to look at its keys.
 * @throws saying what to install where there is none
 */
export async function startRedis(processes) {
  const program = await ensureRedis();
  const port = await freePort();
  const settings = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
  let stop = async () => {};
  if (program.kind === 'program') {
    processes.start(program.path, ['--port', String(port), '--bind', '127.0.0.1', ...settings]);
  } else {
    const name = `demo-redis-${randomBytes(4).toString('hex')}`;
    const publish = ['--publish', `127.0.0.1:${port}:6379`];
    const run = ['run', '--detach', '--rm', '--name', name, ...publish, program.image];
    await docker(...run, 'redis-server', ...settings);
    stop = () => docker('rm', '--force', name);
  }
  const keys = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 });
  keys.on('error', () => {}); // it is asked until it answers, below
  await until('Redis to answer', () => keys.ping());
  return {
    url: `redis://127.0.0.1:${port}`,
    keys,
    async stop() {
      keys.disconnect();
      await stop();
    },
  };
}
