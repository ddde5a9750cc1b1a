import { type StagedContent } from '../contents/content.js';

/** A file that has been received, with the names that its form had for it. */
export interface ReceivedFile {
  readonly fieldname: string;
  readonly originalname: string;
  readonly mimetype: string;
  readonly sha256: string;
  readonly content: StagedContent;
  /** The first bytes. */
  readonly head: Uint8Array;
}

/** What a request brought: a form's fields, or a JSON body with an empty text, and the document's bytes. */
export interface ReceivedUpload {
  readonly kind: 'form' | 'json';
  readonly fields: unknown;
  readonly file: ReceivedFile | undefined;
}
