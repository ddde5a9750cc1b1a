import type { Redis } from 'ioredis';
import { LockOptionsError } from '../../core/lock.errors.js';

/** What one server says of itself. */
export interface ServerFindings {
  readonly isReplica: boolean;
  /** What may break locks, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Asks one server what it is. Two commands. @throws LockOptionsError for one that is too old
 */
export async function serverFindings(server: Redis, isOne: boolean): Promise<ServerFindings> {
  const { host, port } = server.options;
  const info = await server.info().catch((error: unknown) => String(error));
  const coverage = isOne
    ? []
    : await server.config('GET', 'cluster-require-full-coverage').catch(() => []); // told to few users
  return describeServer(`The Redis server ${host}:${port}`, { info, coverage, isOne });
}

/** What a server said. */
export interface ServerAnswers {
  /** Its INFO, or why it gave none. */
  readonly info: string;
  readonly coverage: unknown;
  readonly isOne: boolean;
}

/** @throws LockOptionsError for one that is too old */
export function describeServer(
  server: string,
  { info, coverage, isOne }: ServerAnswers,
): ServerFindings {
  const said = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
  const version = said('redis_version');
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  if (version !== undefined && (major < 6 || (major === 6 && minor < 2))) {
    throw new LockOptionsError(
      `${server} is version ${version}, which lacks what the lock scripts need. Use Redis 6.2 or later, or Valkey.`,
    );
  }
  const isReplica = said('role') === 'slave';
  const policy = said('maxmemory_policy');
  const warnings: string[] = [];
  if (version === undefined || policy === undefined) {
    warnings.push(
      `it does not tell its version, role and maxmemory-policy (${info.slice(0, 200)}). They must be 6.2 or later, master, and noeviction, or locks may vanish.`,
    );
  } else if (policy !== 'noeviction') {
    warnings.push(
      `its maxmemory-policy is ${policy}, under which locks may vanish under memory pressure. Set it to noeviction.`,
    );
  }
  if (isReplica) {
    warnings.push(
      'it is a replica, so locks are unavailable until it is promoted. Point the client at the primary, or at its Sentinels.',
    );
  }
  if (isOne && said('cluster_enabled') === '1') {
    warnings.push(
      'it belongs to a cluster, and the client does not know that: locks of other servers are unavailable. Pass a Cluster client.',
    );
  }
  if (Array.isArray(coverage) && coverage[1] === 'yes') {
    warnings.push(
      'its cluster-require-full-coverage is yes, so while one part of the cluster has no master, the locks of all parts are unavailable. Set it to no.',
    );
  }
  return { isReplica, warnings: warnings.map((text) => `${server}: ${text}`) };
}
