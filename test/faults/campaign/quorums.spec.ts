import { readdirSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { broken, eachInItsOwnWays } from './own-faults.spec-support.js';
import { stores } from './stores/index.js';

it('no lock store is left unbroken, but for the one that has no servers', () => {
  const all = Object.values(broken).flat();
  expect(all.toSorted()).toEqual(Object.keys(stores).toSorted());
  const kinds = readdirSync(new URL('../../../src/lock/stores/', import.meta.url));
  expect(all).toEqual(expect.arrayContaining(kinds.filter((kind) => kind !== 'memory')));
});

eachInItsOwnWays(broken.quorums);
