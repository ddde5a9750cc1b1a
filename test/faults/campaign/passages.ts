import type { Operation } from './journal.js';
import { type LibraryDocument, MARK } from './library.js';

/** What the answer to a search tells: which versions its passages are of, and their numbers. */
interface Found {
  readonly versions: ReadonlySet<string>;
  readonly strangers: readonly string[];
  readonly seqs: readonly number[];
}

/** What is wrong with the passages of a search: of two versions, of another document, or not all there. */
export function tornPassages(
  { kind, status, body }: Operation,
  document: LibraryDocument,
): string | undefined {
  if (kind !== 'search' || status !== 200) return undefined;
  const { versions, strangers, seqs } = look(body, document.id);
  if (strangers.length > 0) return `found passages of ${strangers.join(', ')}`;
  if (versions.size > 1) return `found passages of several versions: ${[...versions].join(', ')}`;
  const expected = seqs.map((_, index) => index).join();
  const sorted = seqs.toSorted((a, b) => a - b).join();
  return sorted === expected ? undefined : `found part of the passages only: ${sorted}`;
}

/** The version that a search has found; undefined where it found nothing. */
export function foundVersion({ body, document }: Operation): number | undefined {
  const [version] = look(body, document).versions;
  return version === undefined ? undefined : Number(version);
}

function look(body: unknown, id: string): Found {
  const { passages } = body as { passages: { seq: number; text: string }[] };
  const marks = passages.flatMap(({ text }) => [...text.matchAll(MARK)]);
  return {
    versions: new Set(marks.map(([, , version]) => version ?? '')),
    strangers: marks.flatMap(([, name]) => (name === undefined || name === id ? [] : [name])),
    seqs: passages.map(({ seq }) => seq),
  };
}
