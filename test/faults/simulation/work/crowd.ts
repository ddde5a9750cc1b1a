import type { Server } from '../store/server.js';
import type { Weather } from '../world/weather.js';
import type { World } from '../world/world.js';
import { Client } from './client.js';
import { Resource } from './resource.js';
import { SimulatedProcess } from './simulated-process.js';

const PROCESSES = 3;
const CLIENTS = ['a', 'b'];
const WISHES_PER_CLIENT = 5;
const SHUTDOWN_GRACE_MS = 500;

/** All processes and their clients. */
export class Crowd {
  /** Names under which a lease was not let go. */
  readonly leaked = new Set<string>();
  private readonly resource: Resource;
  private readonly members = new Map<SimulatedProcess, readonly Client[]>();
  private readonly leaving = new Set<SimulatedProcess>();
  private born = 0;
  private isStopping = false;

  constructor(
    private readonly world: World,
    readonly server: Server,
    private readonly weather: Weather,
    private readonly takesSets: boolean,
  ) {
    this.resource = new Resource(world);
    for (let count = 0; count < PROCESSES; count += 1) this.add();
  }

  /** Nobody has anything left to do. */
  get isIdle(): boolean {
    for (const clients of this.members.values()) {
      if (clients.some(({ isBusy }) => isBusy)) return false;
    }
    return true;
  }

  readonly processes = (): readonly SimulatedProcess[] => [...this.members.keys()];

  readonly replace = (process: SimulatedProcess, how: 'crash' | 'shutdown'): void => {
    const clients = this.members.get(process);
    if (!clients || this.leaving.has(process)) return;
    if (how === 'crash') {
      this.members.delete(process);
      process.die();
      this.add();
      return;
    }
    this.leaving.add(process);
    this.world.note({ kind: 'fault', what: 'shutdown' });
    for (const client of clients) client.stop();
    void process.locks.shutdown(SHUTDOWN_GRACE_MS).then(() => this.add());
  };

  /** Everything is well again; whoever works finishes that, and nobody begins anything. */
  stop(): void {
    this.isStopping = true;
    for (const [process, clients] of this.members) {
      process.link.heal();
      for (const client of clients) client.stop();
    }
  }

  private add(): void {
    if (this.isStopping) return;
    const { world, server, weather, resource, leaked } = this;
    const name = `P${(this.born += 1)}`;
    const process = new SimulatedProcess(world, server, weather, name, this.takesSets);
    const clients = CLIENTS.map(
      (letter) => new Client({ world, process, resource, name: `${name}.${letter}`, leaked }),
    );
    this.members.set(process, clients);
    for (const client of clients) void client.live(WISHES_PER_CLIENT, weather.pauses > 0);
  }
}
