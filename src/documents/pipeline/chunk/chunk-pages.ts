import { setImmediate } from 'node:timers/promises';
import { RecursiveCharacterTextSplitter } from '@langchain/textsplitters';
import type { ExtractedPage } from '../extract/extraction.js';
import { type ChunkOptions, resolveChunkOptions } from './chunk-options.js';
import { PairSafeSplitter } from './pair-safe-splitter.js';
import { segments } from './segments.js';

/** One passage: `seq` counts from 0 through the whole document, `page` is the page it stands on. */
export interface Chunk {
  readonly seq: number;
  readonly page: number | null;
  readonly text: string;
}

/** How a caller follows and ends the cutting. */
export interface ChunkCall {
  /** Checked between pieces of work of a few milliseconds; its reason is the error. */
  readonly signal?: AbortSignal;
  /** Called synchronously after each page, `done` rising to `total`, the number of pages. */
  readonly onProgress?: (done: number, total: number) => void;
}

const plain = ['\n\n', '\n', ' ', ''];
/** LangChain's list, and the headings of the first level that it leaves out. */
const markdown = ['\n# ', ...RecursiveCharacterTextSplitter.getSeparatorsForLanguage('markdown')];

/** Longer than that without a look at the main loop and others wait. */
const BUSY_MS = 10;

/**
 * Cuts every page into passages of at most `size` characters, at paragraphs, lines and words where
 * it can. A passage never spans two pages and is never blank. The same input and options give the
 * same passages. Runs on the main thread in pieces of a few milliseconds.
 * @throws ChunkOptionsError, or the signal's reason
 */
export async function chunkPages(
  pages: readonly ExtractedPage[],
  given: Partial<ChunkOptions> = {},
  call: ChunkCall = {},
): Promise<Chunk[]> {
  const options = resolveChunkOptions(given);
  const splitter = new PairSafeSplitter({
    chunkSize: options.size,
    chunkOverlap: options.overlap,
    separators: options.mediaType === 'text/markdown' ? markdown : plain,
  });
  const limit = Math.max(16_384, 4 * options.size);
  const chunks: Chunk[] = [];
  let since = performance.now();
  for (const [index, { page, text }] of pages.entries()) {
    for (const segment of segments(text, limit, options.overlap)) {
      call.signal?.throwIfAborted();
      if (segment.trim() === '') continue; // megabytes of nothing would take the splitter seconds
      for (const piece of await splitter.splitText(segment)) {
        const trimmed = piece.trim();
        if (trimmed !== '') chunks.push({ seq: chunks.length, page, text: trimmed });
      }
      if (performance.now() - since > BUSY_MS) {
        await setImmediate();
        since = performance.now();
      }
    }
    call.onProgress?.(index + 1, pages.length);
  }
  call.signal?.throwIfAborted();
  return chunks;
}
