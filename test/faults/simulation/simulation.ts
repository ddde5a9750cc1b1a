import { checkHistory } from '../checker/check-history.js';
import type { HistoryEvent } from '../checker/history.js';
import type { HistoryReport } from '../checker/report.js';
import { lookAround, lookForOrphans } from './aftermath.js';
import { planFaults } from './fault-plan.js';
import { ModelStore } from './store/model-store.js';
import { type MakeModel, Server } from './store/server.js';
import { Crowd } from './work/crowd.js';
import { weatherOf } from './world/weather.js';
import { type Trace, World } from './world/world.js';

const FAULTS_UNTIL_MS = 8_000;
/** Long enough for every wait, hold and undo to end. */
const LAST_WAIT_MS = 120_000;
/** By then every late message has arrived, and whatever it took has been undone. */
const UNDO_MS = 8_000;
/** Longer than any key lives, also after the store's clock was set back. */
const LONG_AFTER_MS = 3 * 3_600_000;

/** How a simulation may be changed. */
export interface SimulationOptions {
  /** The store instead of the model; the seed then never chooses the memory store. */
  readonly makeModel?: MakeModel | undefined;
  readonly trace?: Trace | undefined;
}

/** What a simulation was, and what the checker says of it. */
export interface SimulationResult {
  readonly seed: number;
  readonly weather: string;
  readonly store: 'model' | 'memory';
  readonly history: readonly HistoryEvent[];
  readonly report: HistoryReport;
  /** How many events it took. */
  readonly events: number;
}

/**
 * One simulation of several engines on one store, all of it decided by the seed. Takes a few ms of
 * real time; nothing outside of it is used, neither clocks nor random numbers.
 */
export async function simulate(
  seed: number,
  options: SimulationOptions = {},
): Promise<SimulationResult> {
  const world = new World(seed, options.trace);
  const random = world.random('world');
  const weather = weatherOf(random);
  const isMemory = options.makeModel === undefined && random.chance(0.2);
  const makeModel = options.makeModel ?? ((now: () => number) => new ModelStore(now));
  const server = new Server(world, isMemory ? undefined : makeModel);
  const crowd = new Crowd(world, server, weather, random.chance(0.7));
  planFaults(world, crowd, weather, FAULTS_UNTIL_MS);
  await world.scheduler.pass(FAULTS_UNTIL_MS);
  crowd.stop();
  await world.scheduler.pass(LAST_WAIT_MS, () => crowd.isIdle);
  await world.scheduler.pass(UNDO_MS);
  await lookForOrphans(world, server, crowd.processes(), crowd.leaked);
  await world.scheduler.pass(LONG_AFTER_MS);
  await lookAround(world, server, weather, crowd.processes());
  return {
    seed,
    weather: weather.name,
    store: isMemory ? 'memory' : 'model',
    history: world.history,
    report: checkHistory(world.history),
    events: world.scheduler.count,
  };
}
