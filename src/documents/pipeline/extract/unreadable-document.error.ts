/** Why a document gives no text. */
export type UnreadableReason =
  | 'broken' // not a PDF, damaged, or cut off
  | 'encrypted' // needs a password
  | 'too-large' // more pages or text than the limits allow
  | 'too-slow' // one page, or all of it, took longer than the limits
  | 'crashed' // the PDF reader failed on it
  | 'not-text'; // text that is not UTF-8

/** The document itself cannot be read; trying again gives the same. The process is unharmed. */
export class UnreadableDocumentError extends Error {
  readonly code = 'unreadable_document';
  /** What the problem's body says besides the usual. */
  readonly extension: { readonly reason: UnreadableReason };

  constructor(
    readonly reason: UnreadableReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.extension = { reason };
    this.name = 'UnreadableDocumentError';
  }
}
