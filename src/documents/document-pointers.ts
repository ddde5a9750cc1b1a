import { Injectable } from '@nestjs/common';
import { Database, guardedWrite } from '../database/index.js';

/** Which generation of a document's passages readers see, and who wrote the document last. */
export interface DocumentPointer {
  /** Of the last writer. */
  readonly fence: bigint;
  /** The published generation; null when none is. */
  readonly generation: bigint | null;
  readonly deleted: boolean;
}

/**
 * The guarded pointer of vector stores that cannot compare and set themselves. Both methods throw
 * DatabaseUnavailableError and cost one statement.
 */
@Injectable()
export class DocumentPointers {
  constructor(private readonly database: Database) {}

  /**
   * Proves that nobody with a newer fence has written the document, and keeps older ones from it.
   * @throws StaleFenceError otherwise, and for a document that is not there (any more)
   */
  async claim(id: string, fence: bigint): Promise<void> {
    await guardedWrite(
      { table: 'documents', id, fence },
      this.database.kysely
        .updateTable('documents')
        .set({ fence })
        .where('id', '=', id)
        .where('deleted', '=', 0n)
        .where('fence', '<=', fence),
    );
  }

  /** The pointer, of a deleted document too; null for one that never was. */
  async read(id: string): Promise<DocumentPointer | null> {
    const row = await this.database.kysely
      .selectFrom('documents')
      .select(['fence', 'generation', 'deleted'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (row === undefined) return null;
    return { fence: row.fence, generation: row.generation, deleted: row.deleted === 1n };
  }
}
