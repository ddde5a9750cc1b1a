import { describe, expect, it } from '@jest/globals';
import { engineMutants } from './engine-mutants.js';
import { firstFailingSeed } from './first-failing-seed.js';
import { storeMutants } from './store-mutants.js';

/** The rarest of the mistakes needs several hundred seeds, most of them fewer than ten. */
const SEEDS = 2_000;
const TIMEOUT_MS = 60_000;

/** A simulation that finds nothing may be one that cannot find anything. */
describe('the simulation finds', () => {
  it.each(Object.entries(storeMutants))(
    '%s',
    async (_mistake, Store) => {
      const makeModel = (now: () => number) => new Store(now);
      expect(await firstFailingSeed(SEEDS, { makeModel })).not.toBeNull();
    },
    TIMEOUT_MS,
  );

  it.each(Object.entries(engineMutants))(
    '%s',
    async (_mistake, breakEngine) => {
      const mend = breakEngine();
      try {
        expect(await firstFailingSeed(SEEDS)).not.toBeNull();
      } finally {
        mend();
      }
    },
    TIMEOUT_MS,
  );

  it('nothing in an engine that was mended again', async () => {
    expect(await firstFailingSeed(100)).toBeNull();
  });
});
