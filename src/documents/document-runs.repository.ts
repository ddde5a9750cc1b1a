import { Injectable } from '@nestjs/common';
import { type Kysely } from 'kysely';
import {
  Database,
  type Schema,
  serverTime,
  StaleFenceError,
  withoutNul,
} from '../database/index.js';
import { type DocumentRecord, type Stage, toRecord } from './document-record.js';

/** How far a stage is; the total is null while it is not known. */
export interface StageProgress {
  readonly stage: Stage;
  readonly done: number;
  readonly total: number | null;
}

/** What a finished run has made. */
export interface Publication {
  readonly pages: number;
  readonly chunks: number;
  /** Of everything that decides about the passages: text, chunk settings, model. */
  readonly processedHash: string;
  /** That the passages were embedded by. */
  readonly embeddingModel: string;
}

const idle = {
  stage: null,
  stage_done: null,
  stage_total: null,
  error_code: null,
  error_message: null,
};

/**
 * The row's side of a processing run: begin, progress, and one of publish, keep and fail. Each is one
 * guarded statement, refused (StaleFenceError) once a newer lease has written, also after a delete
 * and a re-creation. The last three take the document out of the queue in the same transaction: it is
 * there until its outcome is. All methods throw DatabaseUnavailableError.
 */
@Injectable()
export class DocumentRunsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Marks the document as being processed under `fence`. What was published before stays visible.
   * @returns null when there is no such document
   * @throws StaleFenceError
   */
  async begin(id: string, fence: bigint, replica: string): Promise<DocumentRecord | null> {
    const row = await this.guarded(this.database.kysely, id, fence)
      .set({ ...idle, state: 'processing', stage: 'extract', stage_done: 0, replica })
      .set({ sweep_at: serverTime(this.database) })
      .returningAll()
      .executeTakeFirst();
    if (row !== undefined) return toRecord(row);
    const present = await this.fenceOf(id);
    if (present === undefined || (present.deleted === 1n && present.fence <= fence)) return null;
    throw new StaleFenceError({ table: 'documents', id, fence });
  }

  /**
   * Shows how far the run is. A report that arrives after the run's own end changes nothing.
   * @throws StaleFenceError
   */
  async progress(id: string, fence: bigint, { stage, done, total }: StageProgress): Promise<void> {
    const row = await this.guarded(this.database.kysely, id, fence)
      .set({ stage, stage_done: done, stage_total: total })
      .where('state', '=', 'processing')
      .returning('id')
      .executeTakeFirst();
    if (row === undefined) await this.refuseUnlessOver(id, fence);
  }

  /**
   * Ends the run as failed, at the stage it was in. What was published before stays visible. A run
   * that has already ended stays as it is.
   * @throws StaleFenceError
   */
  async fail(
    id: string,
    fence: bigint,
    error: { readonly code: string; readonly message: string },
  ): Promise<void> {
    const row = await this.ending(id, (transaction) =>
      this.guarded(transaction, id, fence)
        .set({ state: 'failed', error_code: error.code, error_message: withoutNul(error.message) })
        .where('state', '=', 'processing')
        .returning('id')
        .executeTakeFirst(),
    );
    if (row === undefined) await this.refuseUnlessOver(id, fence);
  }

  /**
   * Makes the passages of generation `fence` the visible ones, all at once, and ends the run as ready.
   * @throws StaleFenceError, with nothing changed
   */
  async publish(id: string, fence: bigint, made: Publication): Promise<DocumentRecord> {
    const row = await this.ending(id, (transaction) =>
      this.guarded(transaction, id, fence)
        .set({
          ...idle,
          state: 'ready',
          generation: fence,
          pages: made.pages,
          chunks: made.chunks,
          processed_hash: made.processedHash,
          embedding_model: made.embeddingModel,
          processed_at: Date.now(),
        })
        .returningAll()
        .executeTakeFirst(),
    );
    if (row === undefined) throw new StaleFenceError({ table: 'documents', id, fence });
    return toRecord(row);
  }

  /**
   * Ends a run that found nothing new as ready, with the generation that is published, and notes the
   * model that has embedded it: documents of older versions do not tell.
   * @throws StaleFenceError, also when nothing is published
   */
  async keep(id: string, fence: bigint, embeddingModel: string): Promise<DocumentRecord> {
    const row = await this.ending(id, (transaction) =>
      this.guarded(transaction, id, fence)
        .set({ ...idle, state: 'ready', embedding_model: embeddingModel })
        .where('generation', 'is not', null)
        .returningAll()
        .executeTakeFirst(),
    );
    if (row === undefined) throw new StaleFenceError({ table: 'documents', id, fence });
    return toRecord(row);
  }

  private ending<Row>(
    id: string,
    write: (transaction: Kysely<Schema>) => Promise<Row | undefined>,
  ): Promise<Row | undefined> {
    return this.database.transaction(async (transaction) => {
      const row = await write(transaction);
      if (row !== undefined) {
        await transaction.deleteFrom('document_queue').where('document_id', '=', id).execute();
      }
      return row;
    });
  }

  private guarded(kysely: Kysely<Schema>, id: string, fence: bigint) {
    return kysely
      .updateTable('documents')
      .set({ fence, updated_at: Date.now() })
      .where('id', '=', id)
      .where('deleted', '=', 0n)
      .where('fence', '<=', fence);
  }

  private fenceOf(id: string) {
    return this.database.kysely
      .selectFrom('documents')
      .select(['fence', 'deleted'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  private async refuseUnlessOver(id: string, fence: bigint): Promise<void> {
    const present = await this.fenceOf(id);
    if (present?.fence === fence && present.deleted === 0n) return;
    throw new StaleFenceError({ table: 'documents', id, fence });
  }
}
