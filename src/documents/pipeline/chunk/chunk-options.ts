/** How text is cut into passages. A character is a UTF-16 code unit, as in `string.length`. */
export interface ChunkOptions {
  /**
   * The longest passage, in characters. 2 to 10 000.
   * @default 500
   */
  readonly size: number;
  /**
   * How much of the end of a passage its successor repeats at most, in characters. Less than `size`.
   * @default 50
   */
  readonly overlap: number;
  /**
   * Markdown is cut at headings and rules first.
   * @default 'text/plain'
   */
  readonly mediaType: string;
}

/** The settings in use where nothing else is said. */
const DEFAULT_CHUNK_OPTIONS: ChunkOptions = Object.freeze({
  size: 500,
  overlap: 50,
  mediaType: 'text/plain',
});

/** A mistake in the settings of the splitter; found before any text is touched. */
export class ChunkOptionsError extends Error {
  readonly code = 'chunk_options';

  constructor(message: string) {
    super(message);
    this.name = 'ChunkOptionsError';
  }
}

/**
 * Fills in the defaults and checks the numbers and their relation.
 * @throws ChunkOptionsError naming the option, its value and its bounds
 */
export function resolveChunkOptions(given: Partial<ChunkOptions> = {}): ChunkOptions {
  const options: ChunkOptions = {
    size: given.size ?? DEFAULT_CHUNK_OPTIONS.size,
    overlap: given.overlap ?? DEFAULT_CHUNK_OPTIONS.overlap,
    mediaType: given.mediaType ?? DEFAULT_CHUNK_OPTIONS.mediaType,
  };
  const { size, overlap } = options;
  if (!Number.isInteger(size) || size < 2 || size > 10_000) {
    throw new ChunkOptionsError(
      `The chunk size is ${size}; it must be a whole number of characters from 2 to 10000.`,
    );
  }
  if (!Number.isInteger(overlap) || overlap < 0 || overlap >= size) {
    throw new ChunkOptionsError(
      `The chunk overlap is ${overlap}; it must be a whole number of characters from 0 to less than the chunk size, which is ${size}.`,
    );
  }
  return Object.freeze(options);
}
