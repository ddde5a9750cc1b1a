import type { Server } from './store/server.js';
import type { SimulatedProcess } from './work/simulated-process.js';
import type { Random } from './world/random.js';
import type { Weather } from './world/weather.js';
import type { World } from './world/world.js';

const STEPS_MS = [-3_600_000, -5_000, -400, 400, 5_000, 60_000];
const CLOCK_OF_REPLICA_MS = [0, 0, -300, -5_000, 200];
const LAG_MS = [5, 100, 1_500];

/** What a plan may break. */
export interface Breakable {
  readonly server: Server;
  /** The processes that live now. */
  readonly processes: () => readonly SimulatedProcess[];
  /** Ends a process, at once or in order, and begins another in its place. */
  readonly replace: (process: SimulatedProcess, how: 'crash' | 'shutdown') => void;
}

/** Plans all faults of a simulation but those of single messages, at random instants before `untilMs`. */
export function planFaults(
  world: World,
  { server, processes, replace }: Breakable,
  weather: Weather,
  untilMs: number,
): void {
  const random = world.random('faults');
  const plan = (count: number, fault: () => void) => {
    for (let done = 0; done < count; done += 1) {
      world.scheduler.after(random.between(0, untilMs), fault);
    }
  };
  const anyone = () => random.pick(processes());
  plan(weather.pauses, () => anyone().pause(random.between(20, 5_000)));
  plan(weather.crashes, () => replace(anyone(), 'crash'));
  plan(weather.shutdowns, () => replace(anyone(), 'shutdown'));
  plan(weather.partitions, () => cutOff(world, anyone(), random.between(50, 4_000)));
  plan(weather.freezes, () => {
    world.note({ kind: 'fault', what: 'store frozen' });
    server.freeze(random.between(50, 3_000));
  });
  plan(weather.serverSteps, () => stepServer(world, server, random.pick(STEPS_MS)));
  plan(weather.processSteps, () => {
    world.note({ kind: 'fault', what: 'clock of a process stepped' });
    anyone().clock.stepWall(random.pick(STEPS_MS));
  });
  for (let done = 0; done < weather.losses; done += 1) {
    planLoss(world, server, processes, random, untilMs);
  }
}

function cutOff(world: World, { link, store }: SimulatedProcess, ms: number): void {
  world.note({ kind: 'fault', what: 'process cut off' });
  link.cut();
  world.scheduler.after(ms, () => {
    link.join();
    store.reconnected();
  });
}

function stepServer(world: World, server: Server, ms: number): void {
  world.note({ kind: 'fault', what: 'clock of the store stepped', serverClockMs: ms });
  server.step(ms);
}

/** The store restarts with nothing, or a replica is promoted that had not heard everything and has a clock of its own. */
function planLoss(
  world: World,
  server: Server,
  processes: Breakable['processes'],
  random: Random,
  untilMs: number,
): void {
  const at = random.between(0, untilMs);
  const reconnect = () => {
    for (const { store } of processes()) {
      world.scheduler.after(random.between(5, 500), () => store.reconnected());
    }
  };
  const lost = { kind: 'fault', losesLocks: true, losesFences: true } as const;
  if (!server.canRevive || random.chance(0.5)) {
    world.scheduler.after(at, () => {
      world.note({ ...lost, what: 'store restarted empty' });
      server.forget();
      reconnect();
    });
    return;
  }
  const stepMs = random.pick(CLOCK_OF_REPLICA_MS);
  world.scheduler.after(at, () => {
    const promote = server.fork();
    world.scheduler.after(random.pick(LAG_MS), () => {
      world.note({ ...lost, what: 'failover', serverClockMs: stepMs });
      server.step(stepMs);
      promote();
      reconnect();
    });
  });
}
