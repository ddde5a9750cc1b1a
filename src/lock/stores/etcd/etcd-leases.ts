import { type EtcdConnection, wasRefused } from './etcd-connection.js';

/** etcd counts the life of a lease in whole seconds. */
export const LEASE_STEP_MS = 1_000;

/** Leases of the cluster. A key lives as long as its lease, and goes with it. */
export class EtcdLeases {
  private readonly background = new Set<Promise<unknown>>();

  constructor(
    private readonly connection: EtcdConnection,
    private readonly callTimeoutMs: number,
  ) {}

  /** A new lease of at least `ttlMs`, and its life; with id '0' the cluster chooses one. One round trip. */
  async grant(
    id: string,
    ttlMs: number,
    lockName: string,
  ): Promise<{ readonly id: string; readonly lifeMs: number }> {
    const ttl = Math.max(1, Math.ceil(ttlMs / LEASE_STEP_MS));
    const reply = await this.connection.call('Lease/LeaseGrant', { id, ttl }, lockName);
    return { id: reply.id, lifeMs: Number(reply.ttl) * LEASE_STEP_MS };
  }

  /**
   * A lease of that id: a new one of at least `ttlMs`, or that of an earlier try with a life of its own.
   * Returns its life from now on, in ms; 0 where it ended just now. One round trip, else two.
   */
  async ensure(id: string, ttlMs: number, lockName: string): Promise<number> {
    try {
      return (await this.grant(id, ttlMs, lockName)).lifeMs;
    } catch (error) {
      if (!wasRefused(error, 'lease already exists')) throw error;
      const [lifeMs = 0] = await this.keepAlive([id]);
      return lifeMs;
    }
  }

  /**
   * The lives that the leases have from now on, in ms: 0 where a lease is gone, undefined where there is no
   * answer. One stream for all of them. Never rejects.
   */
  async keepAlive(ids: readonly string[]): Promise<readonly (number | undefined)[]> {
    if (ids.length === 0) return [];
    const lives = new Map<string, number>();
    const wanted = new Set(ids);
    const stream = await this.connection
      .stream('Lease/LeaseKeepAlive', this.callTimeoutMs)
      .catch(() => undefined); // no answer, for all of them
    if (!stream) return ids.map(() => undefined);
    await new Promise<void>((resolve) => {
      stream.on('data', ({ id, ttl }) => {
        lives.set(id, Number(ttl) * LEASE_STEP_MS);
        if (lives.size === wanted.size) stream.end();
      });
      stream.on('error', () => resolve());
      stream.on('end', () => resolve());
      for (const id of wanted) stream.write({ id });
    });
    return ids.map((id) => lives.get(id));
  }

  /** Ends the lease and deletes its keys; false where there is none. From then on a late command under it fails. */
  async revoke(id: string, lockName?: string): Promise<boolean> {
    try {
      await this.connection.call('Lease/LeaseRevoke', { id }, lockName);
      return true;
    } catch (error) {
      if (wasRefused(error, 'lease not found')) return false;
      throw error;
    }
  }

  /** The same for a lease under which nothing lies any more; where it fails, the lease runs out by itself. */
  revokeInBackground(id: string): void {
    const revoked = this.revoke(id)
      .catch(() => undefined)
      .finally(() => this.background.delete(revoked));
    this.background.add(revoked);
  }

  /** How long the lease lives yet at most, in ms; undefined for lease '0', which never ends. */
  async remainingMs(id: string): Promise<number | undefined> {
    if (id === '0') return undefined;
    const reply = await this.connection.call('Lease/LeaseTimeToLive', { id });
    const [left, whole] = [Number(reply.ttl), Number(reply.grantedTtl)];
    return Math.max(0, Math.min(left + 1, whole)) * LEASE_STEP_MS; // whole seconds, rounded down
  }

  /** How long the lease lives yet at least, in ms; undefined for one that is gone. */
  async leastLeftMs(id: string): Promise<number | undefined> {
    const { ttl } = await this.connection.call('Lease/LeaseTimeToLive', { id });
    return Number(ttl) < 0 ? undefined : Number(ttl) * LEASE_STEP_MS;
  }

  /** Resolves when what was begun in the background is done. */
  async settled(): Promise<void> {
    await Promise.all(this.background);
  }
}
