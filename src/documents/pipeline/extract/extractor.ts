import { extractText } from './decode-text.js';
import { type ExtractOptions, resolveExtractOptions } from './extract-options.js';
import type { ByteSource, ExtractCall, Extraction } from './extraction.js';
import { PdfExtractor } from './pdf-extractor.js';

/** Turns an uploaded document into pages of text, whatever its type. */
export class Extractor {
  readonly #pdf: PdfExtractor;
  readonly #maxTextChars: number;

  /** Starts nothing; the first PDF does. @throws RangeError for an option out of bounds */
  constructor(options: Partial<ExtractOptions> = {}) {
    this.#pdf = new PdfExtractor(options);
    this.#maxTextChars = resolveExtractOptions(options).maxTextChars;
  }

  /**
   * @param mediaType without parameters: application/pdf, text/plain or text/markdown
   * @throws UnreadableDocumentError, the signal's reason, or TypeError for any other media type
   */
  async extract(
    source: ByteSource,
    mediaType: string,
    call: ExtractCall = {},
  ): Promise<Extraction> {
    switch (mediaType) {
      case 'application/pdf':
        return this.#pdf.extract(source, call);
      case 'text/plain':
      case 'text/markdown':
        return extractText(source, call, this.#maxTextChars);
      default:
        throw new TypeError(
          `Documents of type "${mediaType}" cannot be read; known are application/pdf, text/plain and text/markdown.`,
        );
    }
  }

  /** Ends the threads; whatever is being read rejects. Idempotent. */
  close(): Promise<void> {
    return this.#pdf.close();
  }
}
