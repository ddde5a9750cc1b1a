import { Injectable } from '@nestjs/common';
import { type Transaction } from 'kysely';
import { type Schema } from '../database/index.js';
import { LockService, lockName } from '../lock/index.js';
import { DocumentQueue } from './document-queue.js';
import { type DocumentContent } from './contents/content.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { type DocumentView, toView } from './dto/document.view.js';
import { Sweeper } from './pipeline/run/sweeper.js';
import { type Upload } from './upload/upload.js';

/** What a PUT did. */
export interface PutResult {
  readonly view: DocumentView;
  readonly isNew: boolean;
}

/** A change is refused at once while somebody processes the document, and never waits for that. */
const oneTry = { waitMs: 0 };

/** Takes documents in and throws them away. */
@Injectable()
export class DocumentsService {
  constructor(
    private readonly documents: DocumentsRepository,
    private readonly queue: DocumentQueue,
    private readonly locks: LockService,
    private readonly sweeper: Sweeper,
  ) {}

  /** Stores a document under a fresh id; what `within` writes with its transaction is part of that. */
  async create(
    upload: Upload,
    within: (transaction: Transaction<Schema>, view: DocumentView) => Promise<void>,
  ): Promise<DocumentView> {
    const document = await this.documents.create(upload, (transaction, created) =>
      within(transaction, toView(created)),
    );
    return toView(document);
  }

  /**
   * Stores a document under the caller's id, or replaces it; the same content again changes nothing.
   * @throws LockBusyError while somebody processes it; StaleFenceError
   */
  put(id: string, upload: Upload): Promise<PutResult> {
    return this.locks.run(lockName`doc:${id}`, oneTry, async (lease) => {
      lease.assertHeld();
      const { document, created } = await this.documents.put(id, lease.fence, upload);
      await this.sweeper.sweep(id, null);
      const place = await this.queue.place(id);
      return { view: toView(document, { isInterrupted: false, place }), isNew: created };
    });
  }

  /** @throws DocumentNotFoundError; LockBusyError while somebody processes it; StaleFenceError */
  async delete(id: string): Promise<void> {
    // Looked up first, so that deleting what is not there leaves no trace in the lock store.
    if (!(await this.documents.find(id))) throw new DocumentNotFoundError(id);
    await this.locks.run(lockName`doc:${id}`, oneTry, async (lease) => {
      // Most of them before the transaction, which is short then; it takes along the last ones.
      do lease.assertHeld();
      while (await this.documents.forgetConversations(id));
      lease.assertHeld();
      if (!(await this.documents.delete(id, lease.fence))) throw new DocumentNotFoundError(id);
      await this.sweeper.sweep(id, null);
    });
  }

  /** The bytes as they were uploaded, piece by piece. @throws DocumentNotFoundError */
  async content(id: string): Promise<DocumentContent> {
    const content = await this.documents.content(id);
    if (!content) throw new DocumentNotFoundError(id);
    return content;
  }
}
