import { quorumOf } from './holders.js';
import type { Answers } from './settle-early.js';

export const TOO_FEW = 'too few gave an answer that counts';
export const UNCONFIRMED = 'too few confirmed its fence';

/** For the error where no quorum was had: how many are needed, and what is the matter with each node. */
export function nodeTroubles(
  nodes: readonly { readonly label: string }[],
  all: Answers<unknown>['all'],
  why: string,
): string {
  const needed = `${quorumOf(nodes.length)} of ${nodes.length} Redlock nodes are needed, and ${why}`;
  const troubles = all.flatMap((answer, index) =>
    answer && 'trouble' in answer ? [`${nodes[index]?.label}: ${answer.trouble.message}`] : [],
  );
  return [needed, ...troubles].join('; ');
}
