import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const stores = readdirSync(new URL('../../src/lock/stores/', import.meta.url));
const specs = [
  new URL('../../src/lock/stores/memory/memory-lock-store.spec.ts', import.meta.url),
  ...readdirSync(new URL('.', import.meta.url))
    .filter((file) => file.endsWith('-lock-store.spec.ts'))
    .map((file) => new URL(file, import.meta.url)),
];

/** A store exists only if the contract suite runs on it. */
describe('every lock store', () => {
  it.each(stores)('%s runs the contract suite', (store) => {
    const own = specs.filter((spec) => spec.pathname.endsWith(`/${store}-lock-store.spec.ts`));
    expect(own).toHaveLength(1);
    expect(readFileSync(own[0] as URL, 'utf8')).toContain('it.each(lockStoreContract)');
  });
});
