import type { Replica } from '../replica.js';

/** What `GET /pool` tells, as far as a campaign looks. */
export interface PoolView {
  readonly queued: number;
  readonly members: readonly {
    readonly fingerprint: string;
    readonly state: 'free' | 'leased' | 'resting' | 'quarantined';
    readonly inUse: number;
  }[];
}

/** The pool as a replica shows it; undefined where it gives no answer, or says that it cannot know. */
export async function poolAt(replica: Replica): Promise<PoolView | undefined> {
  return (await send(replica, '/pool', 'GET')) as PoolView | undefined;
}

/** Takes a key back into use. False where the replica gives no answer, or cannot. */
export async function readmitAt(replica: Replica, fingerprint: string): Promise<boolean> {
  return (await send(replica, `/pool/${fingerprint}/readmit`, 'POST')) !== undefined;
}

async function send(replica: Replica, path: string, method: string): Promise<unknown> {
  const signal = AbortSignal.timeout(5_000);
  const answer = await replica.fetch(path, { method, signal }).catch(() => undefined);
  if (answer?.ok !== true) return undefined;
  return answer.json().catch(() => undefined); // it may be killed in the middle of it
}
