import type { Redis } from 'ioredis';
import type { WakeListener, WakeRole } from '../../core/lock-store.js';
import type { RedisServers } from './redis-servers.js';

/** How long after the end of a connection another one is opened, in ms. */
const REOPEN_MS = 200;

/** What a message begins with, before the lock's key. */
const roles: Readonly<Record<string, WakeRole>> = { '+': 'turn', '?': 'standby', '!': 'revoked' };

/**
 * One connection of its own, from the first listener on, with a channel per listening process (one,
 * unless several engines share the store) while it listens. After every (re)subscription the listeners are told to
 * look at everything, since messages may have been missed.
 */
export class RedisSubscriber {
  private readonly listeners = new Map<string, WakeListener>();
  private connection: Redis | undefined;
  private reopening: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly servers: RedisServers,
    private readonly channelPrefix: string,
    private readonly keyPrefix: string,
  ) {}

  add(process: string, listener: WakeListener): () => void {
    this.listeners.set(process, listener);
    if (!this.closed) {
      // Another listener may have found no server yet, and be about to try again.
      if (!this.connection && !this.reopening) this.open();
      else if (this.connection?.status === 'ready') this.subscribe(this.connection, process);
    }
    return () => this.remove(process, listener);
  }

  /** Passes a message on, come from the server or from this very process. */
  tell(process: string, name: string | undefined, role: WakeRole, token?: string): void {
    this.listeners.get(process)?.(name, role, token);
  }

  close(): void {
    this.closed = true;
    this.listeners.clear();
    clearTimeout(this.reopening);
    this.connection?.disconnect();
  }

  private remove(process: string, listener: WakeListener): void {
    if (this.listeners.get(process) !== listener) return; // another one has taken its place
    this.listeners.delete(process);
    if (this.connection?.status !== 'ready') return;
    // Where it fails the connection is going away, and its subscriptions with it.
    this.connection.unsubscribe(this.channelPrefix + process).catch(() => undefined);
  }

  private open(): void {
    this.connection = this.connect();
    if (this.connection) this.connection.once('end', () => this.openLater());
    else this.openLater();
  }

  private openLater(): void {
    if (this.closed) return;
    this.reopening = setTimeout(() => {
      this.reopening = undefined;
      this.open();
    }, REOPEN_MS);
    this.reopening.unref();
  }

  private connect(): Redis | undefined {
    const connection = this.servers.openSubscriber({
      autoResubscribe: false, // done below, to know when
      lazyConnect: false,
      connectionName: 'doclock-subscriber',
    });
    if (!connection) return undefined;
    // Listening alone is no reason for a process to go on.
    connection.on('connect', () => connection.stream.unref());
    connection.on('ready', () => {
      for (const process of this.listeners.keys()) this.subscribe(connection, process);
    });
    connection.on('message', (channel: string, message: string) => {
      const process = channel.slice(this.channelPrefix.length);
      const role = roles[message.charAt(0)];
      // No key holds white space; only revocations have something behind it.
      const [name, token] = message.slice(1 + this.keyPrefix.length).split(' ');
      if (role) this.tell(process, name, role, token);
      else this.tell(process, undefined, 'turn'); // not of this version: it may mean anything
    });
    // The main connection has the same trouble and reports it; this one only comes back by itself.
    connection.on('error', () => undefined);
    return connection;
  }

  private subscribe(connection: Redis, process: string): void {
    connection.subscribe(this.channelPrefix + process).then(
      () => this.tell(process, undefined, 'turn'),
      // Messages are a convenience: without rights on the channel waiters look by themselves.
      (error: Error) => {
        if (this.closed || connection.status !== 'ready') return; // it subscribes again when it is back
        warn(this.channelPrefix + process, error);
      },
    );
  }
}

function warn(channel: string, error: Error): void {
  process.emitWarning(`cannot subscribe to "${channel}": ${error.message}`, 'LockWakeWarning');
}
