import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type ExpressionBuilder } from 'kysely';
import { Database, guardedWrite, type Schema } from '../../database/index.js';
import { EmbedderChangedError } from '../ports/embedder-changed.error.js';
import { type Hit, type Passage, type VectorStore } from '../ports/vector-store.js';
import { BestHits } from './best-hits.js';
import { checkedDimensions } from './checked-passages.js';
import { assertUnitLength, dimensionsOf, dotProduct, embeddingBytes } from './embedding-bytes.js';

const WRITE_BATCH = 64;
const READ_BATCH = 256;

type OnPassages = ExpressionBuilder<Schema, 'passages'>;

function ownDocument(is: OnPassages) {
  return is
    .selectFrom('documents')
    .select('documents.id')
    .whereRef('documents.id', '=', 'passages.document_id');
}

/** The passage's document, where its generation is the one that readers see. */
function published(is: OnPassages) {
  return ownDocument(is)
    .where('documents.deleted', '=', 0n)
    .whereRef('documents.generation', '=', 'passages.generation');
}

/** The passage's document, where its last writer is a newer one, or deleted it. */
function leftBehind(is: OnPassages) {
  return ownDocument(is).where((row) =>
    row.or([
      row('documents.fence', '>', row.ref('passages.generation')),
      row.and([
        row('documents.deleted', '=', 1n),
        row('documents.fence', '=', row.ref('passages.generation')),
      ]),
    ]),
  );
}

/**
 * Passages in the service's own database, searched exactly: every passage of the document is
 * compared, in pages, with a turn of the event loop in between. Good for thousands of passages per
 * document (about 2 KB each); nothing is shared between documents.
 */
@Injectable()
export class SqlVectorStore implements VectorStore {
  constructor(private readonly database: Database) {}

  /** Each batch is one transaction that first proves the fence. @inheritdoc */
  async write(
    documentId: string,
    generation: bigint,
    passages: readonly Passage[],
    signal: AbortSignal,
  ): Promise<void> {
    checkedDimensions(passages);
    for (let start = 0; start < passages.length; start += WRITE_BATCH) {
      signal.throwIfAborted();
      await this.writeBatch(documentId, generation, passages.slice(start, start + WRITE_BATCH));
      await setImmediate();
    }
    signal.throwIfAborted();
  }

  /** @inheritdoc */
  async search(
    documentId: string,
    generation: bigint,
    query: Float32Array,
    limit: number,
  ): Promise<Hit[]> {
    assertUnitLength(query, 'The query');
    const best = new BestHits(limit);
    let last = -1n;
    for (;;) {
      const rows = await this.passagesOf(documentId, generation)
        .select(['seq', 'embedding'])
        .where('seq', '>', last)
        .orderBy('seq')
        .limit(READ_BATCH)
        .execute();
      for (const row of rows) {
        const dimensions = dimensionsOf(row.embedding);
        if (dimensions !== query.length) {
          const why = `${dimensions} dimensions, and now ${query.length}`;
          throw new EmbedderChangedError(documentId, why);
        }
        best.offer({ seq: Number(row.seq), score: dotProduct(row.embedding, query) });
      }
      last = rows.at(-1)?.seq ?? last;
      if (rows.length < READ_BATCH) break;
      await setImmediate();
    }
    return this.hits(documentId, generation, best);
  }

  /** One statement, so that no reader ever finds part of a generation. @inheritdoc */
  async sweep(documentId: string, keep: bigint | null): Promise<number> {
    const { numDeletedRows } = await this.database.kysely
      .deleteFrom('passages')
      .where('document_id', '=', documentId)
      .where((is) => is.exists(leftBehind(is)))
      .$if(keep !== null, (query) => query.where('generation', '<', keep))
      .where((is) => is.not(is.exists(published(is))))
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  /** @inheritdoc */
  async count(documentId: string, generation: bigint): Promise<number> {
    const { passages } = await this.passagesOf(documentId, generation)
      .select(({ fn }) => fn.countAll<bigint>().as('passages'))
      .executeTakeFirstOrThrow();
    return Number(passages);
  }

  /** @inheritdoc */
  async ping(): Promise<void> {
    await this.database.ping();
  }

  private async writeBatch(
    documentId: string,
    generation: bigint,
    passages: readonly Passage[],
  ): Promise<void> {
    await this.database.transaction(async (transaction) => {
      await guardedWrite(
        { table: 'documents', id: documentId, fence: generation },
        transaction
          .updateTable('documents')
          .set({ fence: generation })
          .where('id', '=', documentId)
          .where('deleted', '=', 0n)
          .where('fence', '<=', generation),
      );
      await transaction
        .insertInto('passages')
        .values(
          passages.map(({ seq, page, text, embedding }) => ({
            document_id: documentId,
            generation,
            seq,
            page,
            text,
            embedding: embeddingBytes(embedding),
          })),
        )
        .onConflict((conflict) =>
          conflict.columns(['document_id', 'generation', 'seq']).doUpdateSet((row) => ({
            page: row.ref('excluded.page'),
            text: row.ref('excluded.text'),
            embedding: row.ref('excluded.embedding'),
          })),
        )
        .execute();
    });
  }

  private async hits(documentId: string, generation: bigint, best: BestHits): Promise<Hit[]> {
    const { candidates } = best;
    if (candidates.length === 0) return [];
    const rows = await this.passagesOf(documentId, generation)
      .select(['seq', 'page', 'text'])
      .where(
        'seq',
        'in',
        candidates.map(({ seq }) => BigInt(seq)),
      )
      .execute();
    // A sweep takes a whole generation at once: after one, nothing is left of what was compared.
    const bySeq = new Map(rows.map((row) => [Number(row.seq), row]));
    return candidates.flatMap(({ seq, score }) => {
      const row = bySeq.get(seq);
      const page = row?.page ?? null;
      return row ? [{ seq, page: page === null ? null : Number(page), text: row.text, score }] : [];
    });
  }

  private passagesOf(documentId: string, generation: bigint) {
    return this.database.kysely
      .selectFrom('passages')
      .where('document_id', '=', documentId)
      .where('generation', '=', generation);
  }
}
