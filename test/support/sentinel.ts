import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { findRedis } from '../../scripts/support/redis-program.mjs';

/** A real Sentinel on a loopback port that watches one primary as `mymaster` and decides alone. */
export interface Sentinel {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Starts a Sentinel; a failover comes half a second after the primary has gone. `more` gives further lines of
 * its configuration for a port. @throws where Redis is a Docker image
 */
export async function startSentinel(
  masterPort: number,
  more: (port: number) => readonly string[] = () => [],
): Promise<Sentinel> {
  const program = await findRedis();
  if (program.kind !== 'program') throw new Error('A Sentinel needs redis-server as a program.');
  const directory = await mkdtemp(join(tmpdir(), 'sentinel-'));
  const config = join(directory, 'sentinel.conf');
  const port = await freePort();
  await writeFile(
    config,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`,
      'sentinel down-after-milliseconds mymaster 500',
      'sentinel failover-timeout mymaster 3000',
      ...more(port),
      '',
    ].join('\n'),
  );
  const child = spawn(program.path, [config, '--sentinel'], { stdio: 'ignore' });
  await once(child, 'spawn');
  return {
    port,
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
