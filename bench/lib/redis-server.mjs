import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pause } from './clock.mjs';

const START_MS = 10_000;

/**
 * A Redis server for this run alone: loopback, a free port, a temporary directory, no persistence.
 * @returns {Promise<{ port: number, version: string, stop(): Promise<void> }>}
 */
export async function startRedis() {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'doclock-bench-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
  const server = spawn('redis-server', [...args, '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  });
  const failed = new Promise((_resolve, reject) => {
    server.once('error', () =>
      reject(new Error('redis-server is not on PATH; install it, for example with apt-get.')),
    );
    server.once('exit', (code) => reject(new Error(`redis-server ended with code ${code}.`)));
  });
  failed.catch(() => undefined); // its end after the run is no failure
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const version = await Promise.race([answeringVersion(port), failed]);
    return { port, version, stop };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function answeringVersion(port) {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  });
  client.on('error', () => undefined); // not listening yet
  try {
    const info = await Promise.race([
      client.info('server'),
      pause(START_MS).then(() => {
        throw new Error(`redis-server did not answer within ${START_MS} ms.`);
      }),
    ]);
    return /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown';
  } finally {
    client.disconnect();
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
