import type { Client, Exception, Stat } from 'node-zookeeper-client';
import type { CancelTimer, Clock } from '../../core/clock.js';
import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { mendReading } from './mend-reading.js';

/** What is needed of the library's socket. */
interface Socket {
  readonly bytesRead: number;
  destroy(): void;
}

type Library = typeof import('node-zookeeper-client');
type Callback<T extends unknown[]> = (error: Error | Exception | null, ...answer: T) => void;

const NOTHING = Buffer.alloc(0);

/** ZooKeeper's codes. */
const CONNECTION_LOSS = -4;
const NO_NODE = -101;
const BAD_VERSION = -103;
const NODE_EXISTS = -110;
const NOT_EMPTY = -111;
const SESSION_EXPIRED = -112;
const SESSION_MOVED = -118;

/** Of the session's timeout: silence for longer than a ping and its answer may take. */
const SILENCE_PART = 0.55;
const LOOKS_PER_TIMEOUT = 10;
/** The longest pause after all servers were tried. */
const SPIN_DELAY_MS = 200;

/** What a session tells. */
export interface SessionEvents {
  /** Connected: for the first time, again, or with a new session. Watches of an old session are gone. */
  readonly onConnected: (isNew: boolean) => void;
  /** All nodes of the session are gone. */
  readonly onExpired: () => void;
}

/**
 * One session with the ensemble, and the next one after it has expired. Commands are sent only while
 * connected, once each, and have a deadline.
 */
export class ZookeeperSession {
  /** Counts the sessions: what an older one made is gone. */
  generation = 0;
  private library: Promise<Library> | undefined;
  private client: Client | undefined;
  isClosed = false;
  private cancelLook: CancelTimer | undefined;
  private lastBytes = { socket: undefined as Socket | undefined, read: -1, sinceMs: 0 };

  constructor(
    private readonly servers: string,
    private readonly sessionTimeoutMs: number,
    private readonly callTimeoutMs: number,
    private readonly clock: Clock,
    private readonly events: SessionEvents,
  ) {}

  /** Loads the client library and begins to connect. @throws LockOptionsError where it is not installed */
  async open(): Promise<void> {
    const library = await (this.library ??= loadLibrary());
    if (!this.client && !this.isClosed) this.connect(library);
  }

  /** Resolves when connected, or after the time of a call. */
  async connected(): Promise<boolean> {
    await this.open();
    const client = this.client;
    if (!client || this.isConnected) return this.isConnected;
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        client.removeListener('connected', done);
        resolve(this.isConnected);
      };
      const cancel = this.clock.setTimer(done, this.callTimeoutMs, true);
      client.once('connected', done);
    });
  }

  get isConnected(): boolean {
    return this.client?.getState().code === 3; // SYNC_CONNECTED
  }

  /** What the ensemble has granted, in ms: it has bounds of its own. */
  get timeoutMs(): number {
    return this.client?.getSessionTimeout() ?? this.sessionTimeoutMs;
  }

  /** The path that was made. @throws LockUnavailableError; `undefined` where the parent is missing */
  create(prefix: string, data: Buffer, lockName?: string): Promise<string | undefined> {
    const mode = 3; // EPHEMERAL_SEQUENTIAL
    return this.ask<[string]>(
      (client, done) => client.create(prefix, data, mode, done),
      lockName,
      NO_NODE,
    ).then((answer) => answer?.[0]);
  }

  /** Makes a lasting node, and its parents. No error where it exists. */
  async makeParent(path: string, lockName?: string): Promise<void> {
    await this.ask<[string]>((client, done) => client.mkdirp(path, done), lockName, NODE_EXISTS);
  }

  /** False where there was none, or where it has children. */
  async remove(path: string, lockName?: string): Promise<boolean> {
    const answer = await this.ask<[]>(
      (client, done) => client.remove(path, (error) => done(error)),
      lockName,
      NO_NODE,
      NOT_EMPTY,
    );
    return answer !== undefined;
  }

  /** The names of the children; none where the node is missing. */
  async children(path: string, lockName?: string): Promise<readonly string[]> {
    const answer = await this.ask<[string[], Stat]>(
      (client, done) => client.getChildren(path, done),
      lockName,
      NO_NODE,
    );
    return answer?.[0] ?? [];
  }

  /** A node's data and its czxid; `onChange` once when it changes or goes. Undefined where there is none. */
  async read(
    path: string,
    lockName?: string,
    onChange?: (event: { readonly isGone: boolean }) => void,
  ): Promise<{ data: Buffer | undefined; czxid: bigint; version: number } | undefined> {
    const deleted = (await this.library)?.Event.NODE_DELETED;
    const answer = await this.ask<[Buffer | undefined, Stat]>(
      (client, done) =>
        onChange
          ? client.getData(path, (event) => onChange({ isGone: event.type === deleted }), done)
          : client.getData(path, done),
      lockName,
      NO_NODE,
    );
    if (!answer) return undefined;
    const [data, { czxid, version }] = answer;
    return { data, czxid: czxid.readBigInt64BE(), version };
  }

  /** False where the node is missing or was changed since `version` (-1: whatever). Goes through the leader. */
  async write(path: string, data: Buffer, version = -1, lockName?: string): Promise<boolean> {
    const answer = await this.ask<[Stat]>(
      (client, done) => client.setData(path, data, version, done),
      lockName,
      NO_NODE,
      BAD_VERSION,
    );
    return answer !== undefined;
  }

  /**
   * Writes nothing to a node, through the leader: so the session is heard, and with the answer the connected
   * server has seen whatever it has done before. False where the node is missing.
   */
  hear(path: string, lockName?: string): Promise<boolean> {
    return this.write(path, NOTHING, -1, lockName);
  }

  /** Ends the session, and with it all of its nodes. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelLook?.();
    const client = this.client;
    if (!client) return;
    const wasConnected = this.isConnected;
    await new Promise<void>((resolve) => {
      const timeoutMs = wasConnected ? this.callTimeoutMs : 2 * SPIN_DELAY_MS;
      const cancel = this.clock.setTimer(resolve, timeoutMs, true);
      if (wasConnected) {
        client.once('disconnected', () => {
          cancel();
          resolve();
        });
      }
      client.close();
    });
    socketOf(client)?.destroy();
  }

  private connect(library: Library): void {
    const client = library.createClient(this.servers, {
      sessionTimeout: this.sessionTimeoutMs,
      spinDelay: SPIN_DELAY_MS,
      retries: 0,
    });
    mendReading(client);
    client.setMaxListeners(0); // every call that waits for the connection is one
    this.client = client;
    this.generation += 1;
    let isNew = true;
    client.on('connected', () => {
      if (this.client !== client || this.isClosed) return;
      this.events.onConnected(isNew);
      isNew = false;
    });
    client.on('expired', () => {
      socketOf(client)?.destroy();
      if (this.client !== client || this.isClosed) return;
      this.connect(library);
      this.events.onExpired();
    });
    client.connect();
    this.look();
  }

  /**
   * The library pings, but never looks whether anybody answers: a server that is frozen, or accepts and says
   * nothing, is left for the next one here. Cuts the socket, on which the library reconnects.
   */
  private look(): void {
    this.cancelLook?.();
    this.cancelLook = this.clock.setTimer(() => {
      const { monoMs } = this.clock.now();
      const socket = this.client && socketOf(this.client);
      const { lastBytes } = this;
      if (socket !== lastBytes.socket || socket?.bytesRead !== lastBytes.read) {
        this.lastBytes = { socket, read: socket?.bytesRead ?? 0, sinceMs: monoMs };
      } else if (socket && monoMs - lastBytes.sinceMs > this.timeoutMs * SILENCE_PART) {
        socket.destroy();
      }
      if (!this.isClosed) this.look();
    }, this.timeoutMs / LOOKS_PER_TIMEOUT);
  }

  /** The answer, or undefined for one of the errors that are answers. @throws LockUnavailableError */
  private async ask<T extends unknown[]>(
    send: (client: Client, done: Callback<T>) => void,
    lockName: string | undefined,
    ...answers: readonly number[]
  ): Promise<T | undefined> {
    const isConnected = this.isConnected || (await this.connected());
    const client = this.client;
    if (this.isClosed || !client || !isConnected) {
      const why = this.isClosed ? 'the store is closed' : 'no server of the ensemble is connected';
      throw new LockUnavailableError(lockName, `ZooKeeper: ${why}`, { mayHaveRun: false });
    }
    const socket = socketOf(client);
    return new Promise((resolve, reject) => {
      const cancel = this.clock.setTimer(
        () => {
          socket?.destroy(); // whatever is wrong with this server, the next one may answer
          const why = `ZooKeeper: no answer within ${this.callTimeoutMs} ms`;
          reject(new LockUnavailableError(lockName, why));
        },
        this.callTimeoutMs,
        true,
      );
      send(client, (error, ...answer) => {
        cancel();
        const code = error ? (error as Exception).code : 0;
        if (!error) resolve(answer);
        else if (answers.includes(code)) resolve(undefined);
        else {
          const mayHaveRun = code === CONNECTION_LOSS || code === SESSION_EXPIRED;
          // The library learns of an expiry only when it connects.
          if (code === SESSION_EXPIRED || code === SESSION_MOVED) socket?.destroy();
          const why = `ZooKeeper: ${(error as Exception).name || String(error)}`;
          reject(new LockUnavailableError(lockName, why, { cause: error, mayHaveRun }));
        }
      });
    });
  }
}

/** The library has no way to leave a server; its connection manager reconnects when the socket closes. */
function socketOf(client: Client): Socket | undefined {
  const { connectionManager } = client as Client & { connectionManager?: { socket?: Socket } };
  return connectionManager?.socket;
}

async function loadLibrary(): Promise<Library> {
  try {
    const loaded = await import('node-zookeeper-client');
    return (loaded as { default?: Library }).default ?? loaded;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new LockOptionsError(
      'The lock store "zookeeper" needs the package node-zookeeper-client, which is not installed. Run "npm install node-zookeeper-client", or choose another store.',
    );
  }
}
