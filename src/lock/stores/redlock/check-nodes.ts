import { LockOptionsError, LockUnavailableError } from '../../core/lock.errors.js';
import { quorumOf } from './holders.js';
import type { RedlockNode } from './redlock-node.js';

/** How long one node may take for all of it, in ms; one that is away must not hide what the others say. */
const NODE_TIMEOUT_MS = 3_000;

/** How long the first look at the nodes may take, in ms; one that is away then is looked at later. */
const START_TIMEOUT_MS = 3_000;

/** Connects the nodes. @throws LockOptionsError where one is a replica, or two are the same server */
export async function startNodes(nodes: readonly RedlockNode[]): Promise<void> {
  const defects = await Promise.all(
    nodes.map(async (node) => [node.label, await node.start(START_TIMEOUT_MS)] as const),
  );
  const found = defects.filter(([, defect]) => defect !== undefined);
  if (found.length === 0) return;
  throw new LockOptionsError(
    `The Redlock nodes are not independent: ${found.map(([label, defect]) => `${label}: ${defect}`).join('; ')}. Give each its own Redis master, on a machine of its own, and let its user call INFO.`,
  );
}

/**
 * What may break locks on each node, and which of them are away: a sentence each.
 * @throws LockOptionsError where locks cannot work on a node; LockUnavailableError where too few answer
 */
export async function checkNodes(nodes: readonly RedlockNode[]): Promise<readonly string[]> {
  const checks = await Promise.allSettled(nodes.map((node) => node.check(NODE_TIMEOUT_MS)));
  const refusals: string[] = [];
  const warnings: string[] = [];
  const away: string[] = [];
  for (const [index, check] of checks.entries()) {
    const of = (text: string) => `Redlock node ${nodes[index]?.label}: ${text}`;
    if (check.status === 'fulfilled') warnings.push(...check.value.map(of));
    else if (check.reason instanceof LockOptionsError) refusals.push(of(check.reason.message));
    else away.push(of((check.reason as Error).message));
  }
  if (refusals.length > 0) throw new LockOptionsError(refusals.join(' '));
  const quorum = quorumOf(nodes.length);
  if (nodes.length - away.length < quorum) {
    const why = `${quorum} of ${nodes.length} Redlock nodes are needed, and too few could be checked`;
    throw new LockUnavailableError(undefined, [why, ...away].join('; '));
  }
  const bring = 'It was not checked, and the fewer there are, the fewer may fail. Bring it back.';
  return [...warnings, ...away.map((text) => `${text}. ${bring}`)];
}
