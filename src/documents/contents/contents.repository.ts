import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { sql, type Transaction } from 'kysely';
import { Database, type Schema, serverTime } from '../../database/index.js';
import { Turnstile } from '../pipeline/threads/turnstile.js';
import { ContentGoneError, type StagedContent, UploadExpiredError } from './content.js';

/** Longer than any request may take to come in, by far. */
export const ABANDONED_AFTER_MS = 15 * 60_000;
/** Large bodies leave most connections of the database to others. */
const MAX_STATEMENTS = 4;
const MAX_REMOVED = 20;

/**
 * The pieces of contents. Until a content is published an upload names it, and its pieces are stored one
 * by one; publishing takes the upload away in the transaction that gives the content to its document. So a
 * crash leaves nothing but an upload, which is removed later. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class ContentsRepository {
  private readonly statements = new Turnstile(MAX_STATEMENTS);

  constructor(private readonly database: Database) {}

  /** Stores a piece of a content that is coming in; the first one begins the upload. @throws UploadExpiredError */
  append(id: string, seq: number, bytes: Uint8Array): Promise<void> {
    return this.inTurn(id, async () => {
      const { kysely, dialect } = this.database;
      if (seq === 0) await this.begin(id);
      const { numInsertedOrUpdatedRows: stored } = await kysely
        .insertInto('content_pieces')
        .columns(['content_id', 'seq', 'bytes'])
        .expression((from) =>
          from
            .selectFrom('uploads')
            .select([
              'id',
              sql<bigint>`cast(${seq} as bigint)`.as('seq'),
              sql<Buffer>`cast(${bytes} as ${sql.raw(dialect === 'postgres' ? 'bytea' : 'blob')})`.as(
                'bytes',
              ),
            ])
            .where('id', '=', id)
            // A removal waits, and then sees the piece.
            .$if(dialect === 'postgres', (query) => query.forUpdate()),
        )
        .executeTakeFirstOrThrow();
      if (stored !== 1n) throw new UploadExpiredError();
    });
  }

  /** Gives the content to a document, in the document's transaction. @throws UploadExpiredError */
  async publish(transaction: Transaction<Schema>, content: StagedContent): Promise<void> {
    const { id, storedPieces, lastPiece } = content;
    if (storedPieces > 0 && !(await this.endUpload(transaction, id)))
      throw new UploadExpiredError();
    if (lastPiece.length === 0) return;
    await transaction
      .insertInto('content_pieces')
      .values({ content_id: id, seq: storedPieces, bytes: lastPiece })
      .execute();
  }

  /** Removes what was stored of a content, unless it was published. */
  discard(id: string): Promise<void> {
    return this.database.transaction(async (transaction) => {
      if (await this.endUpload(transaction, id)) await this.remove(transaction, id);
    });
  }

  /** Removes a content, in the transaction that takes it from its document. */
  async remove(transaction: Transaction<Schema>, id: string): Promise<void> {
    await transaction.deleteFrom('content_pieces').where('content_id', '=', id).execute();
  }

  /** The pieces of a content in their order, each when it is asked for. @throws ContentGoneError */
  async *read(id: string, sizeBytes: number): AsyncGenerator<Buffer, void> {
    let left = sizeBytes;
    for (let seq = 0; left > 0; seq += 1) {
      const piece = await this.inTurn(id, () => this.piece(id, seq));
      if (piece === undefined || piece.bytes.length > left) throw new ContentGoneError();
      left -= piece.bytes.length;
      yield piece.bytes;
    }
  }

  /**
   * Removes some of the uploads that broke off without a trace, as those of a process that was killed.
   * @returns how many; another call may find more
   */
  async removeAbandoned(): Promise<number> {
    const { kysely } = this.database;
    const rows = await kysely
      .selectFrom('uploads')
      .select('id')
      .where('begun_at', '<', sql<bigint>`${serverTime(this.database)} - ${ABANDONED_AFTER_MS}`)
      .limit(MAX_REMOVED)
      .execute();
    for (const { id } of rows) await this.discard(id);
    return rows.length;
  }

  private async begin(id: string): Promise<void> {
    const { kysely } = this.database;
    await kysely
      .insertInto('uploads')
      .values({ id, begun_at: serverTime(this.database) })
      .execute();
  }

  private async endUpload(transaction: Transaction<Schema>, id: string): Promise<boolean> {
    const { numDeletedRows } = await transaction
      .deleteFrom('uploads')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return numDeletedRows === 1n;
  }

  private piece(id: string, seq: number) {
    return this.database.kysely
      .selectFrom('content_pieces')
      .select('bytes')
      .where('content_id', '=', id)
      .where('seq', '=', BigInt(seq))
      .executeTakeFirst();
  }

  /** One statement after the other would keep the main loop from everything else: SQLite blocks it. */
  private async inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.statements.enter({ owner: { id } });
    try {
      await setImmediate();
      return await work();
    } finally {
      leave();
    }
  }
}
