import { LockError } from '../../../src/lock/core/lock.errors.js';
import { parseToken } from '../../../src/lock/core/owner-token.js';
import type { Server } from './store/server.js';
import { SimulatedProcess } from './work/simulated-process.js';
import { NAMES } from './work/wish.js';
import type { Weather } from './world/weather.js';
import type { World } from './world/world.js';

/**
 * Nobody works any more and the undoing is over: a lock that is still held by an engine that lives
 * belongs to nobody, unless a lease of that name was never let go, the request came twice, or the
 * store keeps keys for longer than they were meant to live.
 */
export async function lookForOrphans(
  world: World,
  server: Server,
  living: readonly SimulatedProcess[],
  leaked: ReadonlySet<string>,
): Promise<void> {
  if (server.prolongsLives) return;
  const engines = new Set(living.map(({ store }) => store.engine));
  for await (const page of server.contents.list()) {
    for (const { name, token } of page) {
      if (!engines.has(parseToken(token)?.process)) continue;
      if (leaked.has(name) || server.ghosts.has(token)) continue;
      world.note({ kind: 'left', what: `"${name}" is held, and nobody holds it` });
    }
  }
}

/** Everything has had its time: no key, no place, no timer may be left, and every lock can be taken at once. */
export async function lookAround(
  world: World,
  server: Server,
  weather: Weather,
  living: readonly SimulatedProcess[],
): Promise<void> {
  for await (const page of server.contents.list()) {
    for (const { name } of page) world.note({ kind: 'left', what: `"${name}" is still held` });
  }
  for (const { name, clock } of living) {
    if (clock.timers > 0) world.note({ kind: 'left', what: `${clock.timers} timers of ${name}` });
  }
  const newcomer = new SimulatedProcess(world, server, weather, 'newcomer', false);
  newcomer.link.heal();
  const tries = NAMES.map(async (name) => {
    try {
      const lease = await newcomer.locks.acquire(name);
      const state = await newcomer.locks.inspect(name);
      if (state?.queued) world.note({ kind: 'left', what: `${state.queued} wait for "${name}"` });
      await lease.release();
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      world.note({ kind: 'left', what: `"${name}" cannot be taken: ${error.message}` });
    }
  });
  await world.scheduler.pass(10_000);
  await Promise.all(tries);
}
