import type { StoredLock } from '../../core/lock-store.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import { quorumOf } from './holders.js';
import type { RedlockNode } from './redlock-node.js';

/**
 * The locks that a quorum holds, page by page: names from as many nodes as hold a part of every such
 * lock, and each name looked at on all of them. @throws LockUnavailableError where too few can be listed
 */
export async function* listLocks(
  nodes: readonly RedlockNode[],
  inspect: (name: string) => Promise<StoredLock | null>,
): AsyncGenerator<readonly (StoredLock & { readonly name: string })[]> {
  const seen = new Set<string>();
  const needed = nodes.length - quorumOf(nodes.length) + 1;
  const troubles: string[] = [];
  let listed = 0;
  for (const node of nodes) {
    try {
      for await (const page of node.list()) {
        const names = page.map(({ name }) => name).filter((name) => !seen.has(name));
        for (const name of names) seen.add(name);
        const found = names.map(async (name) => ({ name, stored: await inspect(name) }));
        yield (await Promise.all(found)).flatMap(({ name, stored }) =>
          stored ? [{ name, ...stored }] : [],
        );
      }
      listed += 1;
    } catch (error) {
      troubles.push(`${node.label}: ${(error as Error).message}`);
    }
    if (listed === needed) return;
  }
  throw new LockUnavailableError(
    undefined,
    `${listed} Redlock nodes could be listed, and ${needed} are needed; ${troubles.join('; ')}`,
  );
}
