/** What a check found out about one part. */
export interface Check {
  readonly status: string;
  /** How long the part took to answer. */
  readonly responseTime?: number;
}

/** The replica cannot serve at the moment; `extension.checks` says which part is in the way, and never why. */
export class NotReadyError extends Error {
  readonly code = 'not_ready';
  readonly extension: { readonly checks: Readonly<Record<string, Check>> };

  /** @param checks one entry per part, `down` where it is in the way */
  constructor(checks: Readonly<Record<string, Check>>, options?: ErrorOptions) {
    const parts = Object.entries(checks).flatMap(([part, { status }]) => {
      return status === 'down' ? [part] : [];
    });
    super(`Not available at the moment: ${parts.join(', ')}.`, options);
    this.name = 'NotReadyError';
    this.extension = { checks };
  }
}
