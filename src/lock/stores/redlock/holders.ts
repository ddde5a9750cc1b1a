import type { StoredLock } from '../../core/lock-store.js';

/** The lock that a quorum of the nodes sees, null where none can be, undefined where that is not known. */
export function heldByQuorum(
  seen: readonly (StoredLock | null)[],
  nodes: number,
): StoredLock | null | undefined {
  const quorum = quorumOf(nodes);
  const unknown = nodes - seen.length;
  const byToken = new Map<string, StoredLock[]>();
  for (const one of seen) {
    if (one) byToken.set(one.token, [...(byToken.get(one.token) ?? []), one]);
  }
  for (const [token, parts] of byToken) {
    if (parts.length >= quorum) return combined(token, parts, quorum);
  }
  const most = Math.max(0, ...[...byToken.values()].map((parts) => parts.length));
  return most + unknown < quorum ? null : undefined;
}

/** More than half of them. */
export function quorumOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

export function median<T extends number | bigint>(values: readonly T[]): T | undefined {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : 1));
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

function combined(token: string, parts: readonly StoredLock[], quorum: number): StoredLock {
  const lives = parts.map(({ remainingMs }) => remainingMs ?? Infinity).sort((a, b) => b - a);
  const remainingMs = lives[quorum - 1] ?? 0; // until fewer than a quorum have it
  const held = parts.flatMap(({ heldForMs }) => (heldForMs === undefined ? [] : [heldForMs]));
  return {
    token,
    remainingMs: remainingMs === Infinity ? undefined : remainingMs,
    fence: commonFence(parts),
    heldForMs: median(held),
    queued: 0,
    revoked: parts.filter(({ revoked }) => !revoked).length < quorum,
  };
}

/** That of the grant: a node that answered late may have a higher one of its own. */
function commonFence(parts: readonly StoredLock[]): bigint | undefined {
  const counts = new Map<bigint, number>();
  for (const { fence } of parts) {
    if (fence !== undefined) counts.set(fence, (counts.get(fence) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return best?.[0];
}
