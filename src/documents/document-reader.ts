import { Injectable, Logger } from '@nestjs/common';
import { type PagePart } from '../database/index.js';
import { LockError, LockService, lockName } from '../lock/index.js';
import { type DocumentRecord } from './document-record.js';
import { DocumentNotFoundError } from './documents.errors.js';
import { DocumentsRepository } from './documents.repository.js';
import { type DocumentListView, type DocumentView, toView } from './dto/document.view.js';

/** Reads documents, and finds out whether the worker of one that is being processed still lives. */
@Injectable()
export class DocumentReader {
  private readonly logger = new Logger(DocumentReader.name);

  constructor(
    private readonly documents: DocumentsRepository,
    private readonly locks: LockService,
  ) {}

  /** One query, and one look at the lock while the document is being processed. @throws DocumentNotFoundError */
  async read(id: string): Promise<DocumentView> {
    const view = await this.peek(id);
    if (!view) throw new DocumentNotFoundError(id);
    return view;
  }

  /** The same, with null for a document that is not there. */
  async peek(id: string): Promise<DocumentView | null> {
    const record = await this.documents.find(id);
    return record && this.view(record);
  }

  /** The newest documents first. @throws InvalidCursorError */
  async list(part: PagePart): Promise<DocumentListView> {
    const { items, nextCursor } = await this.documents.list(part);
    const views = await Promise.all(items.map((record) => this.view(record)));
    return { items: views.filter((view) => view !== null), nextCursor };
  }

  private async view(record: DocumentRecord): Promise<DocumentView | null> {
    if (await this.workerLives(record)) return toView(record, false);
    // The run may have ended between the two looks; only a row that still says the same is abandoned.
    const again = await this.documents.find(record.id);
    const isAbandoned = again?.state === 'processing' && again.fence === record.fence;
    return again && toView(again, isAbandoned);
  }

  private async workerLives({ id, state, fence }: DocumentRecord): Promise<boolean> {
    if (state !== 'processing') return true;
    try {
      return (await this.locks.inspect(lockName`doc:${id}`))?.fence === fence;
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      // Nobody can tell now, and a guess would make people start over: the row has the last word.
      this.logger.debug(`The lock of document ${id} cannot be looked at: ${error.message}`);
      return true;
    }
  }
}
