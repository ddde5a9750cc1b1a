import { Redis } from 'ioredis';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { eventually } from './eventually.js';
import { type RedisServer, startRedis } from './redis.js';

/** Whether replicas can be started here: in containers they could not reach each other by loopback addresses. */
export async function canReplicate(): Promise<boolean> {
  return (await findRedis()).kind === 'program';
}

/** A server whose replicas need not wait for others to come before they are filled. */
export function startPrimary(): Promise<RedisServer> {
  return startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
}

/** Starts a replica of what listens on `port`, and waits until both know that it has everything. */
export async function startReplicaOf(port: number): Promise<RedisServer> {
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(port)] });
  const admin = new Redis(port, '127.0.0.1');
  try {
    await eventually(async () => JSON.stringify(await admin.role()).includes(`${replica.port}`), {
      timeoutMs: 20_000,
      what: 'the primary to count its replica',
    });
  } finally {
    admin.disconnect();
  }
  return replica;
}
