import type { Redis } from 'ioredis';
import type { ReleaseListener } from '../../core/lock-store.js';

/**
 * One connection of its own that listens to one channel, from the first listener on. After every
 * (re)subscription the listeners are told to look at everything, since hints may have been missed.
 */
export class RedisSubscriber {
  private readonly listeners = new Set<ReleaseListener>();
  private connection: Redis | undefined;
  private closed = false;

  constructor(
    private readonly client: Redis,
    private readonly channel: string,
  ) {}

  add(listener: ReleaseListener): () => void {
    this.listeners.add(listener);
    if (!this.closed) this.connection ??= this.connect();
    return () => this.listeners.delete(listener);
  }

  close(): void {
    this.closed = true;
    this.listeners.clear();
    this.connection?.disconnect();
  }

  private connect(): Redis {
    const connection = this.client.duplicate({
      autoResubscribe: false, // done below, to know when
      lazyConnect: false,
      connectionName: 'doclock-subscriber',
    });
    connection.on('ready', () => {
      connection.subscribe(this.channel).then(
        () => this.tell(undefined),
        // Hints are a convenience: without rights on the channel waiters look by themselves.
        (error: Error) => this.warn(`cannot subscribe to "${this.channel}": ${error.message}`),
      );
    });
    connection.on('message', (_channel: string, name: string) => this.tell(name));
    // The main connection has the same trouble and reports it; this one only comes back by itself.
    connection.on('error', () => undefined);
    return connection;
  }

  private tell(name: string | undefined): void {
    for (const listener of this.listeners) listener(name);
  }

  private warn(message: string): void {
    if (!this.closed) process.emitWarning(message, 'LockHintWarning');
  }
}
