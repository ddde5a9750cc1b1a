/** What bounds the reading of one document. */
export interface ExtractOptions {
  /**
   * How many PDFs are read at the same time, each on a thread of its own.
   * @default 2
   */
  readonly threads: number;
  /**
   * A PDF with more pages is refused.
   * @default 10000
   */
  readonly maxPages: number;
  /**
   * A document with more text is refused, in characters.
   * @default 20000000
   */
  readonly maxTextChars: number;
  /**
   * A PDF for which the reader wants more memory than this is refused, in megabytes.
   * @default 512
   */
  readonly maxMemoryMb: number;
  /**
   * A PDF that takes longer to open, or of which one page takes longer, is refused, in milliseconds.
   * @default 60000
   */
  readonly pageTimeoutMs: number;
  /**
   * A PDF that takes longer as a whole is refused, in milliseconds.
   * @default 300000
   */
  readonly maxTimeMs: number;
  /**
   * An idle thread is ended after so long, in milliseconds.
   * @default 30000
   */
  readonly idleMs: number;
}

/** The limits in use where nothing else is said. */
const DEFAULT_EXTRACT_OPTIONS: ExtractOptions = Object.freeze({
  threads: 2,
  maxPages: 10_000,
  maxTextChars: 20_000_000,
  maxMemoryMb: 512,
  pageTimeoutMs: 60_000,
  maxTimeMs: 300_000,
  idleMs: 30_000,
});

/**
 * Fills in the defaults and checks every number.
 * @throws RangeError naming the option
 */
export function resolveExtractOptions(given: Partial<ExtractOptions> = {}): ExtractOptions {
  const options: ExtractOptions = {
    threads: given.threads ?? DEFAULT_EXTRACT_OPTIONS.threads,
    maxPages: given.maxPages ?? DEFAULT_EXTRACT_OPTIONS.maxPages,
    maxTextChars: given.maxTextChars ?? DEFAULT_EXTRACT_OPTIONS.maxTextChars,
    maxMemoryMb: given.maxMemoryMb ?? DEFAULT_EXTRACT_OPTIONS.maxMemoryMb,
    pageTimeoutMs: given.pageTimeoutMs ?? DEFAULT_EXTRACT_OPTIONS.pageTimeoutMs,
    maxTimeMs: given.maxTimeMs ?? DEFAULT_EXTRACT_OPTIONS.maxTimeMs,
    idleMs: given.idleMs ?? DEFAULT_EXTRACT_OPTIONS.idleMs,
  };
  for (const [name, value] of Object.entries(options)) {
    if (!Number.isInteger(value) || value < 1 || value > 2 ** 31 - 1) {
      throw new RangeError(
        `Extract option ${name} is ${value}; it must be a whole number from 1 to 2^31-1.`,
      );
    }
  }
  return Object.freeze(options);
}
