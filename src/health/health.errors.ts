/** The replica cannot serve at the moment; `extension.checks` says which part is in the way. */
export class NotReadyError extends Error {
  readonly code = 'not_ready';
  readonly extension: { readonly checks: unknown };

  constructor(checks: unknown, options?: ErrorOptions) {
    super('At least one part that this replica needs is not available; see checks.', options);
    this.name = 'NotReadyError';
    this.extension = { checks };
  }
}
