import { setTimeout as delay } from 'node:timers/promises';
import type { SteppedClock } from '../../../support/clock-shift.js';
import { eventually } from '../../../support/eventually.js';
import type { FaultProxy } from '../../../support/fault-proxy.js';
import { type RedisServer, startRedis } from '../../../support/redis.js';
import type { Journal } from '../journal.js';
import type { StoreTerms } from '../store-world.js';
import { portsFor, startLinks } from './links.js';
import { send } from './redis-keys.js';

/**
 * A Redis primary with a standby, each replica of the service connected through a proxy of its own. A
 * failover moves the proxies, as a virtual address is moved. Nothing is persisted.
 */
export class RedisPair {
  private constructor(
    private primary: RedisServer,
    private standby: RedisServer,
    /** The clock of both servers; undefined where clocks cannot be moved here. */
    readonly clock: SteppedClock | undefined,
    /** Of each replica the one proxy to the primary. */
    readonly links: readonly (readonly FaultProxy[])[],
    private readonly journal: Journal,
  ) {}

  static async start(terms: StoreTerms): Promise<RedisPair> {
    const { clock, journal, atEnd } = terms;
    const options = {
      args: ['--repl-diskless-sync-delay', '0', '--maxmemory-policy', 'noeviction'],
      ...(clock && { env: clock.env }),
    };
    const start = async () => {
      const server = await startRedis(options);
      atEnd(() => server.stop());
      return server;
    };
    const [primary, standby] = [await start(), await start()];
    const links = await startLinks(terms, [primary.port]);
    const pair = new RedisPair(primary, standby, clock, links, journal);
    await pair.attachStandby();
    return pair;
  }

  /** Where a replica of the service finds the primary. */
  urlFor(replica: number): string {
    return `redis://127.0.0.1:${portsFor(this.links, replica, [this.primary.port])[0]}`;
  }

  /** The server that has the locks at the moment. */
  get server(): RedisServer {
    return this.primary;
  }

  /** Sends a command to the primary, past the proxies. */
  async command(...command: readonly [string, ...string[]]): Promise<unknown> {
    return send(this.primary, ...command);
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
    await send(this.primary, 'FAILOVER', 'TO', '127.0.0.1', String(this.standby.port));
    await eventually(async () => /^role:master/m.test(await this.replication(this.standby)), {
      timeoutMs: 30_000,
      what: 'the standby to be promoted',
    });
    this.swap();
  }

  /**
   * Cuts the standby off, goes on for `unseenMs`, and promotes it in place of the primary, which is gone with
   * what came since. `noteLoss` is called whenever something may be lost by that.
   */
  async failOverCutOff(
    unseenMs: number,
    downMs: number,
    noteLoss: () => void = () => undefined,
  ): Promise<void> {
    await this.attachStandby();
    noteLoss();
    await send(this.standby, 'REPLICAOF', 'NO', 'ONE');
    await delay(unseenMs);
    noteLoss();
    await this.primary.kill();
    await delay(downMs);
    noteLoss();
    this.swap();
    await this.standby.restart();
    await this.attachStandby();
  }

  /** Kills the standby and brings it back, after `downMs`. */
  async killStandby(downMs: number): Promise<void> {
    await this.standby.kill();
    await delay(downMs);
    await this.standby.restart();
    await this.attachStandby();
  }

  /** Freezes the standby for a time. */
  async freezeStandby(ms: number): Promise<void> {
    await this.standby.pause();
    await delay(ms);
    await this.standby.resume();
    await this.attachStandby();
  }

  /** Makes the standby follow the primary, if it does not yet, and waits until it has everything. */
  private async attachStandby(): Promise<void> {
    await send(this.standby, 'REPLICAOF', '127.0.0.1', String(this.primary.port));
    await eventually(
      async () => /^master_link_status:up/m.test(await this.replication(this.standby)),
      { timeoutMs: 60_000, what: 'the standby to follow the primary' },
    );
  }

  private swap(): void {
    [this.primary, this.standby] = [this.standby, this.primary];
    for (const proxy of this.links.flat()) proxy.retarget({ port: this.primary.port });
  }

  private async replication(server: RedisServer): Promise<string> {
    return String(await send(server, 'INFO', 'replication'));
  }
}
