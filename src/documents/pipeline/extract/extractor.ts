import { extractText } from './decode-text.js';
import type { ExtractOptions } from './extract-options.js';
import type { ExtractCall, Extraction } from './extraction.js';
import { PdfExtractor } from './pdf-extractor.js';

/** The media types that can be read. */
export const READABLE_MEDIA_TYPES = ['application/pdf', 'text/plain', 'text/markdown'] as const;

/** Turns an uploaded document into pages of text, whatever its type. */
export class Extractor {
  readonly #pdf: PdfExtractor;

  /** Starts nothing; the first PDF does. @throws RangeError for an option out of bounds */
  constructor(options: Partial<ExtractOptions> = {}) {
    this.#pdf = new PdfExtractor(options);
  }

  /**
   * @param mediaType without parameters: one of READABLE_MEDIA_TYPES
   * @throws UnreadableDocumentError, the signal's reason, or TypeError for any other media type
   */
  async extract(bytes: Uint8Array, mediaType: string, call: ExtractCall = {}): Promise<Extraction> {
    switch (mediaType) {
      case 'application/pdf':
        return this.#pdf.extract(bytes, call);
      case 'text/plain':
      case 'text/markdown':
        return extractText(bytes, call);
      default:
        throw new TypeError(
          `Documents of type "${mediaType}" cannot be read; known are ${READABLE_MEDIA_TYPES.join(', ')}.`,
        );
    }
  }

  /** Ends the threads; whatever is being read rejects. Idempotent. */
  close(): Promise<void> {
    return this.#pdf.close();
  }
}
