import { type Hit, type Passage } from '../../ports/vector-store.js';
import { embeddingBytes } from '../embedding-bytes.js';

/** A condition on the metadata of records. */
export type Where = Readonly<Record<string, unknown>>;

interface PassageMetadata {
  readonly seq: number;
  readonly page?: number;
}

/** ChromaDB's answer to a query with one vector. */
export interface QueryAnswer {
  readonly documents: readonly (readonly (string | null)[])[];
  readonly metadatas: readonly (readonly PassageMetadata[])[];
  readonly distances: readonly (readonly number[])[];
}

/**
 * A generation as ChromaDB keeps it: an integer that JSON numbers hold exactly.
 * @throws RangeError beyond 2^53 - 1, where they would not
 */
function generationNumber(generation: bigint): number {
  const number = Number(generation);
  if (!Number.isSafeInteger(number)) {
    throw new RangeError(
      `Generation ${generation} is too large for ChromaDB's metadata, which is exact below 2^53.`,
    );
  }
  return number;
}

/**
 * Passages as records. The id is made of document, generation and place alone, so that a repeated
 * write replaces; it is unique because the last two parts are numbers. A missing page is a missing
 * key, as metadata knows no null.
 */
export function toRecords(documentId: string, generation: bigint, passages: readonly Passage[]) {
  const number = generationNumber(generation);
  return {
    ids: passages.map(({ seq }) => `${documentId}:${generation}:${seq}`),
    // base64 of float32: exact, and a quarter of the size of decimal digits.
    embeddings: passages.map(({ embedding }) => embeddingBytes(embedding).toString('base64')),
    documents: passages.map(({ text }) => text),
    metadatas: passages.map(({ seq, page }) => ({
      document: documentId,
      generation: number,
      seq,
      ...(page === null ? {} : { page }),
    })),
  };
}

/** What a query found, best first, equal ones by `seq`. */
export function toHits({ documents, metadatas, distances }: QueryAnswer): Hit[] {
  const hits = (metadatas[0] ?? []).map(({ seq, page }, index) => ({
    seq,
    page: page ?? null,
    text: documents[0]?.[index] ?? '',
    score: 1 - (distances[0]?.[index] ?? 1),
  }));
  return hits.sort((a, b) => b.score - a.score || a.seq - b.seq);
}

/** The records of one generation. */
export function ofGeneration(documentId: string, generation: bigint): Where {
  return {
    $and: [
      { document: { $eq: documentId } },
      { generation: { $eq: generationNumber(generation) } },
    ],
  };
}

/** The records of a document's generations below `end`, but for one. */
export function generationsBelow(documentId: string, end: bigint, except: bigint | null): Where {
  const spared = except === null ? [] : [{ generation: { $ne: generationNumber(except) } }];
  return {
    $and: [
      { document: { $eq: documentId } },
      { generation: { $lt: generationNumber(end) } },
      ...spared,
    ],
  };
}
