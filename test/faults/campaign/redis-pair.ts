import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { SteppedClock } from '../../support/clock-shift.js';
import { eventually } from '../../support/eventually.js';
import { FaultProxy } from '../../support/fault-proxy.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import type { Journal } from './journal.js';

/**
 * A Redis primary with a standby, each replica of the service connected through a proxy of its own. A
 * failover moves the proxies, as a virtual address is moved. Nothing is persisted.
 */
export class RedisPair implements AsyncDisposable {
  readonly proxies: FaultProxy[] = [];

  private constructor(
    private primary: RedisServer,
    private standby: RedisServer,
    /** The clock of both servers; undefined where clocks cannot be moved here. */
    readonly clock: SteppedClock | undefined,
    private readonly journal: Journal,
  ) {}

  static async start(
    proxies: number,
    clock: SteppedClock | undefined,
    journal: Journal,
  ): Promise<RedisPair> {
    const options = {
      args: ['--repl-diskless-sync-delay', '0', '--maxmemory-policy', 'noeviction'],
      ...(clock && { env: clock.env }),
    };
    const pair = new RedisPair(
      await startRedis(options),
      await startRedis(options),
      clock,
      journal,
    );
    for (let index = 0; index < proxies; index += 1) {
      pair.proxies.push(await FaultProxy.start({ port: pair.primary.port }));
    }
    await pair.attachStandby();
    return pair;
  }

  /** Of the present primary, past the proxies. */
  get url(): string {
    return this.primary.url;
  }

  /** Sends a command to the primary, past the proxies. */
  async command(...command: readonly [string, ...string[]]): Promise<unknown> {
    return send(this.primary, command);
  }

  /** Freezes the primary for a time. */
  async freeze(ms: number): Promise<void> {
    await this.primary.pause();
    await delay(ms);
    await this.primary.resume();
  }

  /** Kills the primary and brings it back empty, after `downMs`. */
  async restartEmpty(downMs: number): Promise<void> {
    const lost = { losesLocks: true, losesFences: true };
    this.journal.loss('restart without persistence', lost);
    await this.primary.kill();
    await delay(downMs);
    this.journal.loss('restart without persistence', lost);
    await this.primary.restart();
  }

  /** Sets the clock of both servers ahead by that much more (back, when negative). */
  async stepClock(byMs: number): Promise<void> {
    if (!this.clock) throw new Error('The clock cannot be moved here.');
    this.journal.loss('clock step', { serverClockMs: byMs });
    await this.clock.set(this.clock.aheadMs + byMs);
  }

  /** Makes the standby the primary once it has everything; nothing is lost. */
  async failOver(): Promise<void> {
    await this.attachStandby();
    await send(this.primary, ['FAILOVER', 'TO', '127.0.0.1', String(this.standby.port)]);
    await eventually(async () => /^role:master/m.test(await this.replication(this.standby)), {
      timeoutMs: 30_000,
      what: 'the standby to be promoted',
    });
    this.swap();
  }

  /** Cuts the replication, goes on for `unseenMs`, and loses the primary with what came since. */
  async failOverWithLoss(unseenMs: number, downMs: number): Promise<void> {
    const lost = { losesLocks: true, losesFences: true };
    await this.attachStandby();
    this.journal.loss('failover with loss', lost);
    await send(this.standby, ['REPLICAOF', 'NO', 'ONE']);
    await delay(unseenMs);
    this.journal.loss('failover with loss', lost);
    await this.primary.kill();
    await delay(downMs);
    this.journal.loss('failover with loss', lost);
    this.swap();
    await this.standby.restart();
    await this.attachStandby();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await Promise.all([this.primary.stop(), this.standby.stop()]);
  }

  /** Makes the standby follow the primary, if it does not yet, and waits until it has everything. */
  private async attachStandby(): Promise<void> {
    await send(this.standby, ['REPLICAOF', '127.0.0.1', String(this.primary.port)]);
    await eventually(
      async () => /^master_link_status:up/m.test(await this.replication(this.standby)),
      { timeoutMs: 60_000, what: 'the standby to follow the primary' },
    );
  }

  private swap(): void {
    [this.primary, this.standby] = [this.standby, this.primary];
    for (const proxy of this.proxies) proxy.retarget({ port: this.primary.port });
  }

  private async replication(server: RedisServer): Promise<string> {
    return String(await send(server, ['INFO', 'replication']));
  }
}

async function send(
  server: RedisServer,
  [command, ...args]: readonly [string, ...string[]],
): Promise<unknown> {
  const client = new Redis(server.url, { lazyConnect: true, retryStrategy: null });
  client.on('error', () => 'the command that is rejected tells it');
  try {
    await client.connect();
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}
