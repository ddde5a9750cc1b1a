import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { LockStore } from '../../core/lock-store.js';
import { LockError, LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { lockKeys } from './lock-keys.js';
import type { RedisClient } from './lua-script.js';
import type { RedisServers } from './redis-servers.js';
import { serverFindings } from './server-findings.js';

const PROBE_TTL_MS = 2_000;
const PROBE = 'boot-check';

/** The store that is checked, and what it works with. */
export interface CheckedStore {
  readonly store: LockStore;
  readonly client: RedisClient;
  readonly servers: RedisServers;
  readonly prefix: string;
  /** What the channels begin with on which processes are woken. */
  readonly channel: string;
}

/**
 * What may break locks on these servers although they work now, a sentence each. Takes, renews and
 * releases a lock of its own, and opens one connection; about twenty commands.
 * @throws LockOptionsError where locks cannot work; LockUnavailableError where there is no answer
 */
export async function checkStore(checked: CheckedStore): Promise<readonly string[]> {
  const { servers } = checked;
  const findings = await Promise.all(
    servers.masters().map((server) => serverFindings(server, servers.isOne)),
  );
  const warnings = findings.flatMap((one) => one.warnings);
  // A replica refuses what comes now, and breaks the connection with it.
  if (findings.some(({ isReplica }) => isReplica)) return warnings;
  await takeProbes(checked);
  return [...warnings, ...(await missingConveniences(checked))];
}

/** Every script that a lock's life needs, under the store's own prefix and user. Two locks, since two share commands. */
async function takeProbes({ store, client, prefix }: CheckedStore): Promise<void> {
  const names = ['a', 'b'].map((end) => `${PROBE}:${randomBytes(9).toString('hex')}:${end}`);
  const probes = names.map((name) => ({ name, token: `${name}.${PROBE}.${PROBE}` }));
  const place = { process: PROBE, ticket: undefined };
  try {
    await client.eval('return 1', 0); // a server that knows the scripts does not need it until it is restarted
    await each(probes, ({ name, token }) => store.tryAcquire(name, token, PROBE_TTL_MS));
    await each(probes, ({ name }) => store.tryAcquire(name, 'other', PROBE_TTL_MS, place));
    const outcomes = [
      await store.renew(probes.map((probe) => ({ ...probe, ttlMs: 2 * PROBE_TTL_MS }))),
      await store.renew(probes.map((probe) => ({ ...probe, ttlMs: PROBE_TTL_MS }))),
    ];
    await each(probes, ({ name }) => store.inspect(name));
    if (outcomes.flat().includes('unknown')) throw lacking(prefix, 'a lock could not be renewed');
    await each(probes, ({ name }) => store.leave(name, PROBE));
    await each(probes, ({ name, token }) => store.revoke(name, token, PROBE));
    await each(probes, ({ name, token }) => store.release(name, token, PROBE));
    await each(names, (name) => client.del(lockKeys(prefix, name).fence));
  } catch (error) {
    if (isAboutRights(error)) throw lacking(prefix, (error as Error).message);
    if (!(error instanceof LockError)) {
      throw new LockUnavailableError(undefined, (error as Error).message, { cause: error });
    }
    if (isAboutRights(error.cause)) throw lacking(prefix, (error.cause as Error).message);
    throw error;
  }
}

function each<T>(all: readonly T[], ask: (one: T) => Promise<unknown>): Promise<unknown> {
  return Promise.all(all.map(ask));
}

/** Rights without which locks work, and something else does not. */
async function missingConveniences({
  client,
  servers,
  prefix,
  channel,
}: CheckedStore): Promise<string[]> {
  const late = `so waiters look by themselves, up to three seconds late, and a revoked holder learns it by its next renewal. Allow it the channels ${channel}*.`;
  const [master] = servers.masters();
  const missing = await Promise.all([
    refusal(client.publish(channel + PROBE, '')).then(
      (why) => why && `it may not publish to ${channel}* (${why}), ${late}`,
    ),
    refusal(subscribeOnce(servers, channel + PROBE)).then(
      (why) => why && `it may not subscribe to ${channel}* (${why}), ${late}`,
    ),
    refusal(master?.scan('0', 'MATCH', prefix + PROBE, 'COUNT', 1)).then(
      (why) => why && `it may not SCAN (${why}), so locks cannot be listed. Allow it that.`,
    ),
  ]);
  return missing.flatMap((text) => (text ? [`The user of the Redis client: ${text}`] : []));
}

async function subscribeOnce(servers: RedisServers, channel: string): Promise<void> {
  const connection: Redis | undefined = servers.openSubscriber({ lazyConnect: true });
  if (!connection) return;
  connection.on('error', () => undefined); // it rejects below, too
  try {
    await connection.connect();
    await connection.subscribe(channel);
  } finally {
    connection.disconnect();
  }
}

/** Why the server refuses the command, if it does for lack of rights. */
async function refusal(command: Promise<unknown> | undefined): Promise<string | undefined> {
  try {
    await command;
    return undefined;
  } catch (error) {
    if (isAboutRights(error)) return (error as Error).message;
    throw new LockUnavailableError(undefined, (error as Error).message, { cause: error });
  }
}

function lacking(prefix: string, why: string): LockOptionsError {
  return new LockOptionsError(
    `The user of the Redis client lacks rights without which locks cannot work: ${why}. Allow it the keys ${prefix}* and {${prefix}*, and the commands that docs/stores.md lists.`,
  );
}

/** Of a command, and of a command within a script. */
function isAboutRights(error: unknown): boolean {
  return (
    error instanceof Error &&
    /NOPERM|ACL failure in script|can't (?:run this|access at least one)/.test(error.message)
  );
}
