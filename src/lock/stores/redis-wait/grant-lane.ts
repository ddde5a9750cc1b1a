import type { Redis } from 'ioredis';
import { RedisLockStore } from '../redis/redis-lock-store.js';
import { type Confirmation, connectedReplicas } from './confirmation.js';
import { ConfirmationRound } from './confirmation-round.js';

/** What every lane of a store works by. */
export interface LaneTerms {
  readonly client: Redis;
  readonly prefix: string;
  readonly replicas: number | undefined;
  readonly confirmTimeoutMs: number;
}

/** A reply, and what the replicas said where it needed confirmation. */
export interface LaneReply<T> {
  readonly reply: T;
  readonly confirmation?: Confirmation;
}

type LaneEvent = 'ready' | 'free' | 'down';

/**
 * One connection for scripts that need confirmation, in rounds: WAIT blocks its connection, so while
 * one is under way others go elsewhere. A lost connection voids the round: on the next one WAIT would
 * speak of other writes.
 */
export class GrantLane {
  private readonly connection: Redis;
  private readonly store: RedisLockStore;
  private round: ConfirmationRound | undefined;

  constructor(
    private readonly terms: LaneTerms,
    private readonly tell: (event: LaneEvent) => void,
  ) {
    const { client, prefix, confirmTimeoutMs } = terms;
    const connection = client.duplicate({
      lazyConnect: false,
      connectionName: 'doclock-grants',
      socketTimeout: confirmTimeoutMs + 5_000, // the longest silence that is no fault
    });
    // Waiting for an answer is the callers' reason to go on, not the connection's.
    connection.on('connect', () => connection.stream.unref());
    connection.on('ready', () => tell('ready'));
    connection.on('close', () => this.onClose());
    // The main connection has the same trouble and reports it; this one only comes back by itself.
    connection.on('error', () => undefined);
    this.connection = connection;
    this.store = new RedisLockStore({ client: connection, prefix });
  }

  /** Whether a script can be sent now. */
  get isOpen(): boolean {
    return this.connection.status === 'ready' && (this.round?.isOpen ?? true);
  }

  get isConnecting(): boolean {
    return ['connecting', 'connect'].includes(this.connection.status);
  }

  /** Whether there is no connection, nor one to come soon. */
  get isDown(): boolean {
    return this.connection.status !== 'ready' && !this.isConnecting;
  }

  /** One round trip, and a second one shared by all of the round where the reply needs confirmation. */
  async run<T>(
    send: (store: RedisLockStore) => Promise<T>,
    needsConfirmation: (reply: T) => boolean,
  ): Promise<LaneReply<T>> {
    this.round ??= new ConfirmationRound(this.wanted(), (round) => void this.settle(round));
    const { round } = this;
    const reply = await round.join(send(this.store), needsConfirmation);
    if (!needsConfirmation(reply)) return { reply };
    return { reply, confirmation: await round.confirmation };
  }

  /** Asks for what every round needs. @throws what the server says against it */
  async probe(): Promise<void> {
    await this.connection.wait(0, 1);
    await this.wanted();
  }

  close(): void {
    void this.store.close();
    this.connection.disconnect();
  }

  private async wanted(): Promise<number> {
    return this.terms.replicas ?? connectedReplicas(await this.connection.role());
  }

  private async settle(round: ConfirmationRound): Promise<void> {
    if (round.isDue) round.end(await this.confirm(round));
    else round.end({ acknowledged: 0, wanted: 0 }); // nobody asked
    if (this.round === round) this.round = undefined;
    this.tell('free');
  }

  private async confirm(round: ConfirmationRound): Promise<Confirmation> {
    let wanted = this.terms.replicas ?? 1;
    try {
      wanted = await round.wanted;
      if (round.isOver) throw new Error('the connection was lost');
      const acknowledged = await this.connection.wait(wanted, this.terms.confirmTimeoutMs);
      return { acknowledged, wanted };
    } catch (error) {
      return { acknowledged: 0, wanted, trouble: (error as Error).message };
    }
  }

  private onClose(): void {
    const { round } = this;
    this.round = undefined;
    const wanted = this.terms.replicas ?? 1;
    round?.end({ acknowledged: 0, wanted, trouble: 'the connection was lost' });
    this.tell('down');
  }
}
