import { setImmediate } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import { type ByteSource, type ExtractCall, type Extraction, piecesOf } from './extraction.js';
import { UnreadableDocumentError } from './unreadable-document.error.js';

/**
 * Plain text or Markdown as one page without a number. UTF-8, with or without a byte order mark
 * (taken off); anything else is refused rather than guessed. NUL is dropped, line ends become "\n".
 * Works piece by piece and lets the main loop run between them.
 * @throws UnreadableDocumentError when the bytes are not UTF-8, or more text than the limit; the signal's reason
 */
export async function extractText(
  source: ByteSource,
  call: ExtractCall = {},
  maxTextChars = Infinity,
): Promise<Extraction> {
  call.signal?.throwIfAborted();
  call.onProgress?.(0, 1);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parts: string[] = [];
  let held = '';
  let chars = 0;
  let at = 0;
  for await (const bytes of piecesOf(source)) {
    if (at > 0) await setImmediate();
    call.signal?.throwIfAborted();
    const piece = held + decode(decoder, bytes, at);
    at += bytes.length;
    held = piece.endsWith('\r') ? '\r' : ''; // its "\n" may come with the next slice
    const part = clean(held === '' ? piece : piece.slice(0, -1));
    chars += part.length;
    if (chars > maxTextChars) {
      throw new UnreadableDocumentError(
        'too-large',
        `The text cannot be read: it has more than ${maxTextChars} characters.`,
      );
    }
    parts.push(part);
  }
  parts.push(clean(held + decode(decoder, undefined, at)));
  call.onProgress?.(1, 1);
  return { pages: [{ page: null, text: parts.join('') }] };
}

/** Without bytes: the end, where a character that is cut off shows. */
function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, at: number): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    throw new UnreadableDocumentError(
      'not-text',
      `The text cannot be read: it is not valid UTF-8 at or after byte ${at}. Save it as UTF-8.`,
      { cause },
    );
  }
}

function clean(text: string): string {
  return text.replaceAll('\0', '').replace(/\r\n?/g, '\n');
}
