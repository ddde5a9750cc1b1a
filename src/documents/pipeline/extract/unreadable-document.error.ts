/** Why a document gives no text. */
export type UnreadableReason =
  | 'broken' // not a PDF, damaged, or cut off
  | 'encrypted' // needs a password
  | 'too-large' // more pages or text than the limits allow
  | 'too-slow' // one page took longer than the limit
  | 'crashed' // the PDF reader failed on it
  | 'not-text'; // text that is not UTF-8

/** The document itself cannot be read; trying again gives the same. The process is unharmed. */
export class UnreadableDocumentError extends Error {
  readonly code = 'unreadable_document';

  constructor(
    readonly reason: UnreadableReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'UnreadableDocumentError';
  }
}
