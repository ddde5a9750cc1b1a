import { type AnsweringPassage } from './conversation.js';

/** An answer's text whose citations all name passages that were given, and these. */
export interface CheckedAnswer {
  readonly text: string;
  /** By `seq`, in the order in which they are cited. */
  readonly sources: readonly number[];
}

/** One number or a list of them. A year, with its four digits, is no citation. */
const citation = /\[\s*(\d{1,3}(?:\s*,\s*\d{1,3})*)\s*\]/g;

/**
 * Checks each citation against the passages that the model was given: `[n]` is left for these only, a
 * list such as `[1, 3]` becomes `[1][3]`, and the number of no passage stands in round brackets. Whether
 * a passage says what it is cited for is not checked.
 */
export function checkCitations(text: string, passages: readonly AnsweringPassage[]): CheckedAnswer {
  const sources = new Set<number>();
  const checked = text.replace(citation, (_whole, list: string) =>
    list
      .split(',')
      .map(Number)
      .map((number) => {
        const passage = passages[number - 1];
        if (!passage) return `(${number})`;
        sources.add(passage.seq);
        return `[${number}]`;
      })
      .join(''),
  );
  return { text: checked, sources: [...sources] };
}
