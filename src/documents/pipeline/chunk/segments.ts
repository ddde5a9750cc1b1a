/** Where text may be cut, best place first. */
const breaks = ['\n\n', '\n', ' '] as const;

/**
 * Cuts a very long text into segments of at most `limit` characters for a splitter whose memory and
 * time grow with its input. Cuts at the end of a paragraph where there is one, else at a line or a
 * word, and then lets the next segment begin `overlap` characters earlier. Never cuts a surrogate pair.
 * @param limit at least four times `overlap`
 */
export function* segments(text: string, limit: number, overlap: number): Generator<string> {
  let start = 0;
  while (text.length - start > limit) {
    const { cut, paragraph } = findCut(text, start, start + limit);
    yield text.slice(start, cut);
    start = paragraph ? cut : backToWord(text, cut - overlap, cut);
  }
  yield text.slice(start);
}

/** A cut in the second half of the segment, so that each one makes way. */
function findCut(text: string, start: number, end: number): { cut: number; paragraph: boolean } {
  const least = start + (end - start) / 2;
  for (const mark of breaks) {
    const at = text.lastIndexOf(mark, end - mark.length);
    if (at >= least) return { cut: at + mark.length, paragraph: mark === '\n\n' };
  }
  return { cut: beforePair(text, end), paragraph: false };
}

/** The beginning of the first whole word between `from` and `to`, or `from` where there is none. */
function backToWord(text: string, from: number, to: number): number {
  const space = text.slice(from, to).search(/\s\S/);
  return space === -1 ? beforePair(text, from) : from + space + 1;
}

function beforePair(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
