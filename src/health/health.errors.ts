/** The replica cannot serve at the moment; `extension.checks` says which part is in the way. */
export class NotReadyError extends Error {
  readonly code = 'not_ready';
  readonly extension: { readonly checks: object };

  /** @param checks one entry per part, with a `status` of `up` or something else */
  constructor(checks: object, options?: ErrorOptions) {
    const parts = Object.entries(checks).flatMap(([part, check]) => (isUp(check) ? [] : [part]));
    super(`Not available at the moment: ${parts.join(', ')}.`, options);
    this.name = 'NotReadyError';
    this.extension = { checks };
  }
}

function isUp(check: unknown): boolean {
  return typeof check === 'object' && check !== null && 'status' in check && check.status === 'up';
}
