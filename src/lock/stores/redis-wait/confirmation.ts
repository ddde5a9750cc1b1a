/** How many replicas have what was written, and how many had to. */
export interface Confirmation {
  readonly acknowledged: number;
  readonly wanted: number;
  /** Why nothing is known of the replicas: the connection was lost, WAIT was refused, and the like. */
  readonly trouble?: string | undefined;
}

/** Whether the replicas that were wanted have it: trouble and a wish for none confirm nothing. */
export function isConfirmed({ acknowledged, wanted, trouble }: Confirmation): boolean {
  return trouble === undefined && wanted >= 1 && acknowledged >= wanted;
}

/** For the error of a grant that was undone. */
export function whyUnconfirmed(
  { acknowledged, wanted, trouble }: Confirmation,
  confirmTimeoutMs: number,
): string {
  if (trouble !== undefined) return `the replicas could not be asked for confirmation: ${trouble}`;
  return `${acknowledged} of ${wanted} wanted replicas confirmed it within ${confirmTimeoutMs} ms, so it was undone. Look whether the replicas are connected and keep up, or want fewer`;
}

/**
 * What ROLE answers, as the number of replicas that WAIT can count, at least one: none at all
 * confirms nothing. @throws where the server is no primary
 */
export function connectedReplicas(role: unknown): number {
  const [kind, , replicas] = Array.isArray(role) ? (role as unknown[]) : [];
  if (kind !== 'master' || !Array.isArray(replicas)) {
    throw new Error(`the server is no primary (${String(kind)})`);
  }
  return Math.max(1, replicas.length);
}
