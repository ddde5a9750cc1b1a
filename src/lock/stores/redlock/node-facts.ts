/** What a node says of itself on a new connection. */
export interface NodeFacts {
  /** Another one after every restart. */
  readonly runId: string;
  readonly uptimeMs: number;
  readonly role: string;
}

/** From the text of INFO server and INFO replication. @throws where something is missing */
export function nodeFacts(info: string): NodeFacts {
  const field = (name: string) => {
    const value = new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
    if (value === undefined) throw new Error(`INFO does not tell its ${name}`);
    return value;
  };
  return {
    runId: field('run_id'),
    uptimeMs: Number(field('uptime_in_seconds')) * 1000,
    role: field('role'),
  };
}

/**
 * For how long from now a node must not vote, in ms, beyond what is known already: locks that it has
 * forgotten may live elsewhere for `quarantineMs` after it has started. `lastRunId` is that of the
 * connection before: where it differs, the restart was later than that, whatever the uptime says (it
 * comes from a clock that can be stepped).
 */
export function abstentionMs(
  { runId, uptimeMs }: NodeFacts,
  lastRunId: string | undefined,
  quarantineMs: number,
): number {
  if (lastRunId === undefined) return Math.max(0, quarantineMs - uptimeMs);
  return lastRunId === runId ? 0 : quarantineMs;
}
