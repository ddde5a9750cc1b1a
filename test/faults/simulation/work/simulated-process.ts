import { sleep } from '../../../../src/lock/core/clock.js';
import { LockManager } from '../../../../src/lock/core/lock-manager.js';
import { Link } from '../store/link.js';
import { RemoteStore } from '../store/remote-store.js';
import type { Server } from '../store/server.js';
import { ProcessClock } from '../world/process-clock.js';
import type { Random } from '../world/random.js';
import type { Weather } from '../world/weather.js';
import type { World } from '../world/world.js';

/** One process: an engine of its own on its own clock, behind its own link to the store. */
export class SimulatedProcess {
  readonly clock: ProcessClock;
  readonly link: Link;
  readonly store: RemoteStore;
  readonly locks: LockManager;
  private state: 'running' | 'paused' | 'dead' = 'running';
  private readonly random: Random;
  private timersDue: (() => void)[] = [];
  private messages: (() => void)[] = [];

  constructor(
    private readonly world: World,
    server: Server,
    weather: Weather,
    readonly name: string,
    takesSets: boolean,
  ) {
    this.random = world.random(name);
    this.clock = new ProcessClock(world.scheduler, this.random, (run) =>
      this.run(run, this.timersDue),
    );
    this.link = new Link(world, server, weather, this.random, name, (run) =>
      this.run(run, this.messages),
    );
    this.store = new RemoteStore(this.link, server, takesSets);
    this.locks = new LockManager({ store: this.store, clock: this.clock, instanceId: name });
  }

  get isDead(): boolean {
    return this.state === 'dead';
  }

  /** Resolves after `ms` on the process's clock; never, once it is dead. */
  sleep(ms: number): Promise<void> {
    return sleep(this.clock, ms);
  }

  /** Runs nothing for `ms` ms, then what was due meanwhile; `first` is what blocked it, and goes on before all else. */
  pause(ms: number, first?: () => void): void {
    if (this.state !== 'running') return first && this.run(first, this.messages);
    this.state = 'paused';
    const until = this.world.scheduler.now + ms;
    this.world.note({ kind: 'paused', process: this.name, until });
    this.world.scheduler.after(ms, () => this.resume(first));
  }

  /** Blocks the event loop for `ms` ms, as work without an `await` does. */
  block(ms: number): Promise<void> {
    return new Promise((resolve) => this.pause(ms, resolve));
  }

  die(): void {
    if (this.state === 'dead') return;
    this.state = 'dead';
    this.world.note({ kind: 'died', process: this.name });
  }

  private run(run: () => void, backlog: (() => void)[]): void {
    if (this.state === 'running') run();
    else if (this.state === 'paused') backlog.push(run);
  }

  private resume(first: (() => void) | undefined): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    this.world.trace(this.name, 'goes on');
    const due = [this.timersDue.splice(0), this.messages.splice(0)];
    // Where in its event loop a stopped process stands decides whether timers or messages come first.
    const [timers = [], messages = []] = this.random.chance(0.5) ? due : due.toReversed();
    first?.();
    for (const run of [...timers, ...messages]) {
      this.world.scheduler.after(0, () => this.run(run, this.messages));
    }
  }
}
