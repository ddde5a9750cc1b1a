import type { Redis, RedisOptions } from 'ioredis';

/** Where the servers of a lock store are, and when one of them has come (back). */
export interface RedisServers {
  /** Keys of several locks may go into one command. */
  readonly isOne: boolean;
  /** Connects what is not connected yet, and waits for that. Never rejects. */
  start(): Promise<void>;
  /** A connection per server that locks are on. @throws where one of them is away */
  masters(): readonly Redis[];
  /** A connection of its own for messages; undefined while no server is known. It ends for good, or comes back by itself. */
  openSubscriber(options: RedisOptions): Redis | undefined;
  /** Leaves a server that has been demoted, for the one that is found now; a cluster redirects by itself. */
  leaveReplica(): void;
  /** Calls `listener` after each (re)connection to a server that locks are on. Returns what ends it. */
  onConnect(listener: () => void): () => void;
  close(): void;
}
