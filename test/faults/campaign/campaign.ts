import { readAudit } from './audit.js';
import { everythingWorks, nothingIsLostOrDoubled, nothingStays } from './aftermath.js';
import { Journal } from './journal.js';
import { makeLibrary } from './library.js';
import { Nemesis } from './nemesis.js';
import { type CampaignReport, reportOf } from './report.js';
import { Requests } from './requests.js';
import { SeededRandom } from './seeded-random.js';
import { verdict } from './verdict.js';
import { Workload } from './workload.js';
import { World, type WorldOptions } from './world.js';

/** What a campaign does. */
export interface CampaignOptions extends WorldOptions {
  /** Decides the faults and the requests; what comes of them is not repeatable. */
  readonly seed: number;
  /**
   * How long things are broken, in ms; start and end come on top. Not set: until every fault of the lock
   * store's own has been there once.
   */
  readonly durationMs?: number;
  /** How many requests are under way at once. */
  readonly clients: number;
  /** Told what is being done. */
  readonly say?: (line: string) => void;
}

/**
 * Real replicas of the built service on real servers, under load, while one thing after the other is
 * broken. Then it looks whether anything was processed twice at once, torn, lost, or left behind.
 * @throws when the campaign itself does not work; what the service does wrong is in the report
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const { seed, durationMs, clients, store, database, say = () => undefined } = options;
  const startedAt = Date.now();
  const journal = new Journal(say);
  const library = await makeLibrary(4);
  const world = await World.start(options, journal);
  try {
    const requests = new Requests(journal);
    const workload = new Workload(seed, clients, world.replicas, library, requests);
    const random = new SeededRandom(seed, 'nemesis');
    try {
      const nemesis = new Nemesis(world, random, requests, journal);
      if (durationMs === undefined)
        await nemesis.breakEach((fault) => world.store.faults.includes(fault));
      else await nemesis.run(Date.now() + durationMs);
    } finally {
      await workload.stop();
    }
    say('repaired; looking at what it has come to');
    await everythingWorks(world, library, requests, journal, workload.nextVersion());
    await nothingStays(world, journal);
    await nothingIsLostOrDoubled(world, journal);
    const history = verdict(await readAudit(world.database), await world.testimony(), journal);
    return reportOf({ seed, store, database, startedAt }, journal, history);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}
