import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Insertable, type Transaction } from 'kysely';
import {
  Database,
  newestPage,
  type DocumentRow,
  type DocumentsTable,
  type PagePart,
  type Schema,
  serverTime,
  StaleFenceError,
} from '../database/index.js';
import { claimDocument } from './claim-document.js';
import { type DocumentContent } from './contents/content.js';
import { ContentsRepository } from './contents/contents.repository.js';
import { type DocumentInput, freshColumns, notRunning } from './document-input.js';
import { type DocumentRecord, toRecord } from './document-record.js';

/** What a PUT has done. */
export interface PutOutcome {
  readonly document: DocumentRecord;
  /** True where no document was there before (never, or deleted). */
  readonly created: boolean;
  /** False where the same bytes of the same type were there already. */
  readonly contentChanged: boolean;
}

/** Part of the list of documents. */
export interface DocumentPage {
  readonly items: readonly DocumentRecord[];
  /** Gives the next page; null at the end. */
  readonly nextCursor: string | null;
}

const FORGET_LIMIT = 1_000;

/**
 * The documents and their bytes. Every change of an existing document carries the fence of the
 * caller's lease on `doc:<id>` and is refused (StaleFenceError) once a newer fence has written. A
 * deleted document leaves a tombstone that goes on refusing. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class DocumentsRepository {
  constructor(
    private readonly database: Database,
    private readonly contents: ContentsRepository,
  ) {}

  /**
   * Stores a document under a fresh random id. It needs no lock, since nobody can know the id, and
   * gets fence 0: every later lock holder may write it. `within` writes in the same transaction, last.
   */
  async create(
    input: DocumentInput,
    within?: (transaction: Transaction<Schema>, document: DocumentRecord) => Promise<void>,
  ): Promise<DocumentRecord> {
    const now = Date.now();
    const fresh = freshColumns(input, now);
    return this.database.transaction(async (transaction) => {
      const row = await transaction
        .insertInto('documents')
        .values({ id: randomUUID(), fence: 0n, created_at: now, ...fresh })
        .returningAll()
        .executeTakeFirstOrThrow();
      await this.contents.publish(transaction, input.content);
      const document = toRecord(row);
      await within?.(transaction, document);
      return document;
    });
  }

  /**
   * Stores a document under the caller's own id. Different bytes or another type hide what was
   * published and make it `uploaded` again; the same content keeps what was published, and `ready`.
   * @throws StaleFenceError
   */
  async put(id: string, fence: bigint, input: DocumentInput): Promise<PutOutcome> {
    const now = Date.now();
    const fresh = freshColumns(input, now);
    return this.database.transaction(async (transaction) => {
      const earlier = await this.claimOrInsert(transaction, {
        id,
        fence,
        created_at: now,
        ...fresh,
      });
      const created = earlier === null || earlier.deleted === 1n;
      const contentChanged =
        created || earlier.sha256 !== fresh.sha256 || earlier.media_type !== fresh.media_type;
      const unchanged = {
        title: fresh.title,
        updated_at: now,
        ...(earlier?.state === 'ready' ? {} : notRunning),
      };
      const row = await transaction
        .updateTable('documents')
        .set(contentChanged ? fresh : unchanged)
        .$if(contentChanged, (query) => query.set({ sweep_at: serverTime(this.database) }))
        .$if(created, (query) => query.set({ created_at: now }))
        .where('id', '=', id)
        .where('fence', '<=', fence)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) throw new StaleFenceError({ table: 'documents', id, fence });
      if (contentChanged) {
        if (earlier) await this.removeContent(transaction, earlier);
        await this.contents.publish(transaction, input.content);
      }
      return { document: toRecord(row), created, contentChanged };
    });
  }

  /** The document, or null when there is none (any more). */
  async find(id: string): Promise<DocumentRecord | null> {
    const row = await this.database.kysely
      .selectFrom('documents')
      .selectAll()
      .where('id', '=', id)
      .where('deleted', '=', 0n)
      .executeTakeFirst();
    return row === undefined ? null : toRecord(row);
  }

  /** Those of the documents that are there, in any order; up to a few hundred ids. */
  async findAll(ids: readonly string[]): Promise<DocumentRecord[]> {
    const rows = await this.database.kysely
      .selectFrom('documents')
      .selectAll()
      .where('id', 'in', ids)
      .where('deleted', '=', 0n)
      .execute();
    return rows.map(toRecord);
  }

  /**
   * Up to `limit` documents, newest first. @throws InvalidCursorError
   */
  async list(part: PagePart): Promise<DocumentPage> {
    const query = this.database.kysely
      .selectFrom('documents')
      .selectAll()
      .where('deleted', '=', 0n);
    const { rows, nextCursor } = await newestPage(query, 'created_at', part);
    return { items: rows.map(toRecord), nextCursor };
  }

  /** The bytes, piece by piece, or null when there is no such document. */
  async content(id: string): Promise<DocumentContent | null> {
    const row = await this.database.kysely
      .selectFrom('documents')
      .select(['title', 'media_type', 'size_bytes', 'content_id'])
      .where('id', '=', id)
      .where('deleted', '=', 0n)
      .executeTakeFirst();
    if (row === undefined || row.content_id === null) return null;
    const sizeBytes = Number(row.size_bytes);
    const pieces = this.contents.read(row.content_id, sizeBytes);
    return { title: row.title, mediaType: row.media_type, sizeBytes, pieces };
  }

  /**
   * Removes the document with its bytes, its passages and the conversations that quote them, and leaves a tombstone with the fence.
   * @returns false when there is no such document
   * @throws StaleFenceError
   */
  async delete(id: string, fence: bigint): Promise<boolean> {
    return this.database.transaction(async (transaction) => {
      const row = await claimDocument(transaction, id, fence);
      if (row === null || row.deleted === 1n) return false;
      await transaction
        .updateTable('documents')
        .set({ ...freshColumns(nothing, Date.now()), content_id: null, deleted: 1 })
        .set({ sweep_at: serverTime(this.database) })
        .where('id', '=', id)
        .execute();
      await this.removeContent(transaction, row);
      await transaction.deleteFrom('passages').where('document_id', '=', id).execute();
      await transaction.deleteFrom('document_queue').where('document_id', '=', id).execute();
      await transaction.deleteFrom('conversations').where('document_id', '=', id).execute();
      return true;
    });
  }

  /**
   * Removes up to a thousand of the conversations about a document that is to be deleted.
   * @returns whether there may be more
   */
  async forgetConversations(id: string): Promise<boolean> {
    const { numDeletedRows } = await this.database.kysely
      .deleteFrom('conversations')
      .where('id', 'in', (conversations) =>
        conversations
          .selectFrom('conversations')
          .select('id')
          .where('document_id', '=', id)
          .limit(FORGET_LIMIT),
      )
      .executeTakeFirst();
    return numDeletedRows === BigInt(FORGET_LIMIT);
  }

  private async claimOrInsert(
    transaction: Transaction<Schema>,
    row: Insertable<DocumentsTable> & { fence: bigint },
  ): Promise<DocumentRow | null> {
    const earlier = await claimDocument(transaction, row.id, row.fence);
    if (earlier !== null) return earlier;
    const inserted = await transaction
      .insertInto('documents')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    // Somebody inserted it in between: then the fences decide.
    return inserted === undefined ? claimDocument(transaction, row.id, row.fence) : null;
  }

  private async removeContent(
    transaction: Transaction<Schema>,
    { content_id: contentId }: DocumentRow,
  ): Promise<void> {
    if (contentId !== null) await this.contents.remove(transaction, contentId);
  }
}

const nothing: DocumentInput = {
  title: '',
  mediaType: '',
  content: { id: '', sizeBytes: 0, sha256: '', storedPieces: 0, lastPiece: new Uint8Array() },
};
