import type { CancelTimer, Clock } from '../../core/clock.js';
import type { WakeListener, WakeRole } from '../../core/lock-store.js';
import type { PostgresClient } from './postgres-client.js';
import type { PostgresConnection } from './postgres-connection.js';
import type { PostgresSchema } from './postgres-schema.js';

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2_000;
const ROLES: Readonly<Record<string, WakeRole>> = { '+': 'turn', '?': 'standby', '!': 'revoked' };

/** One connection that hears what the processes of this store are told. Opened when the first one listens. */
export class PostgresListener {
  private readonly listeners = new Map<string, WakeListener>();
  private client: PostgresClient | undefined;
  private isOpening = false;
  private isClosed = false;
  private retryMs = FIRST_RETRY_MS;
  private cancelRetry: CancelTimer | undefined;

  constructor(
    private readonly connection: PostgresConnection,
    private readonly schema: PostgresSchema,
    private readonly clock: Clock,
  ) {}

  add(process: string, listener: WakeListener): () => void {
    const channel = this.schema.channelOf(process);
    this.listeners.set(channel, listener);
    if (this.client) void this.listen(this.client, channel);
    else void this.open();
    return () => this.listeners.delete(channel);
  }

  close(): void {
    this.isClosed = true;
    this.listeners.clear();
    this.cancelRetry?.();
    this.drop(this.client);
  }

  private async open(): Promise<void> {
    if (this.client || this.isOpening || this.listeners.size === 0) return;
    this.isOpening = true;
    try {
      const client = await this.connection.connect(undefined);
      if (this.isClosed) return client.release(true);
      client.on('notification', ({ channel, payload = '' }) => {
        const role = ROLES[payload[0] ?? ''];
        const [name, token] = payload.slice(1).split(' ');
        if (role) this.listeners.get(channel)?.(name, role, token);
      });
      const lost = () => this.lost(client);
      client.on('error', lost);
      client.on('end', lost);
      this.client = client;
      this.isOpening = false;
      this.retryMs = FIRST_RETRY_MS;
      for (const channel of this.listeners.keys()) await this.listen(client, channel);
    } catch {
      // Unreachable: waiters look by themselves until it is back.
      this.isOpening = false;
      this.openLater();
    }
  }

  /** Messages from before the subscription are lost: whoever listens looks at everything. */
  private async listen(client: PostgresClient, channel: string): Promise<void> {
    try {
      await client.query(`listen ${channel}`);
      this.listeners.get(channel)?.(undefined, 'turn');
    } catch {
      this.lost(client);
    }
  }

  private lost(client: PostgresClient): void {
    if (this.client !== client) return;
    this.drop(client);
    this.openLater();
  }

  private drop(client: PostgresClient | undefined): void {
    this.client = undefined;
    client?.removeAllListeners('notification');
    client?.release(true);
  }

  private openLater(): void {
    this.cancelRetry?.();
    this.cancelRetry = this.clock.setTimer(() => void this.open(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
  }
}
