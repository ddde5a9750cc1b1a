import type { Renewal, RenewOutcome } from '../../core/lock-store.js';
import type { EtcdConnection } from './etcd-connection.js';
import type { EtcdKeys } from './etcd-keys.js';
import { type EtcdLeases, LEASE_STEP_MS } from './etcd-leases.js';
import { type StoredKey, storedKey, valueOf } from './etcd-look.js';

/** What a transaction may hold at most is 128 by default. */
const MOST_PER_LOOK = 100;

/**
 * Prolongs lives. First one look at all keys, which only a member with a living leader answers, then the
 * leases of those that are still their owners': two round trips for a batch.
 */
export class EtcdRenewals {
  constructor(
    private readonly connection: EtcdConnection,
    private readonly keys: EtcdKeys,
    private readonly leases: EtcdLeases,
  ) {}

  /** One outcome per renewal. Never rejects. */
  async renew(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const batches: Promise<readonly RenewOutcome[]>[] = [];
    for (let at = 0; at < renewals.length; at += MOST_PER_LOOK) {
      const batch = renewals.slice(at, at + MOST_PER_LOOK);
      batches.push(this.renewBatch(batch).catch(() => batch.map(() => 'unknown')));
    }
    return (await Promise.all(batches)).flat();
  }

  /**
   * At least `ttlMs` from now on for one key that was just seen. A lease's TTL is fixed, so that another
   * life means a new lease: three round trips more.
   */
  async prolong(name: string, stored: StoredKey, ttlMs: number): Promise<RenewOutcome> {
    const [lifeMs] = await this.leases.keepAlive([stored.kv.lease]);
    return this.outcome(name, stored, ttlMs, lifeMs);
  }

  private async renewBatch(renewals: readonly Renewal[]): Promise<readonly RenewOutcome[]> {
    const { responses } = await this.connection.call('KV/Txn', {
      compare: [],
      success: renewals.map(({ name, token }) => ({ range: { key: this.keys.lock(name, token) } })),
      failure: [],
    });
    const found = responses.map(({ range }) => {
      const [kv] = range?.kvs ?? [];
      return kv && storedKey(kv);
    });
    const alive = found.flatMap((stored, index) => {
      if (!stored || stored.revoked || isForLess(stored, renewals[index]?.ttlMs)) return [];
      return stored.kv.lease;
    });
    const leases = [...new Set(alive)];
    const lives = await this.leases.keepAlive(leases);
    return Promise.all(
      renewals.map(async ({ name, ttlMs }, index) => {
        const stored = found[index];
        if (!stored) return 'not-owner';
        if (stored.revoked) return 'revoked';
        const lifeMs = lives[leases.indexOf(stored.kv.lease)];
        const outcome = isForLess(stored, ttlMs)
          ? this.renewForLess(name, stored, ttlMs)
          : this.outcome(name, stored, ttlMs, lifeMs);
        return outcome.catch((): RenewOutcome => 'unknown');
      }),
    );
  }

  private async outcome(
    name: string,
    stored: StoredKey,
    ttlMs: number,
    lifeMs: number | undefined,
  ): Promise<RenewOutcome> {
    if (lifeMs === undefined) return 'unknown';
    if (lifeMs === 0) return 'not-owner';
    return lifeMs >= ttlMs ? 'renewed' : this.moveToNewLease(name, stored, ttlMs);
  }

  /**
   * The last renewal before `maxHoldMs`: a keep-alive would give the lease its whole TTL again. Whole
   * seconds, so that the new lease never ends before the old one would have.
   */
  private async renewForLess(
    name: string,
    stored: StoredKey,
    ttlMs: number,
  ): Promise<RenewOutcome> {
    const leftMs = await this.leases.leastLeftMs(stored.kv.lease);
    if (leftMs === undefined) return 'not-owner';
    return leftMs >= ttlMs ? 'renewed' : this.moveToNewLease(name, stored, ttlMs);
  }

  /** Only while the key is as it was seen: one that was deleted or revoked meanwhile stays so. */
  private async moveToNewLease(
    name: string,
    { kv, sinceMs }: StoredKey,
    ttlMs: number,
  ): Promise<RenewOutcome> {
    const { key, modRevision } = kv;
    const { id: lease, lifeMs } = await this.leases.grant('0', ttlMs, name);
    const value = sinceMs === undefined ? kv.value : valueOf(sinceMs, lifeMs);
    const request = {
      compare: [{ key, target: 'MOD', modRevision }],
      success: [{ put: { key, value, lease } }],
      failure: [],
    } as const;
    const { succeeded } = await this.connection.call('KV/Txn', request, name);
    this.leases.revokeInBackground(succeeded ? kv.lease : lease);
    return succeeded ? 'renewed' : 'unknown';
  }
}

/** Whether a keep-alive would prolong the key's life by more than it was asked for. */
function isForLess({ lifeMs }: StoredKey, ttlMs = Infinity): boolean {
  return lifeMs !== undefined && ttlMs + LEASE_STEP_MS <= lifeMs;
}
