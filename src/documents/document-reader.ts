import { Injectable, Logger } from '@nestjs/common';
import { type PagePart } from '../database/index.js';
import { LockError, LockService, lockName } from '../lock/index.js';
import { DocumentQueue, type QueuePlace } from './document-queue.js';
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
    private readonly queue: DocumentQueue,
    private readonly locks: LockService,
  ) {}

  /** One query, and one look at the lock while the document is being processed. @throws DocumentNotFoundError */
  async read(id: string): Promise<DocumentView> {
    const view = (await this.readAll([id])).get(id);
    if (!view) throw new DocumentNotFoundError(id);
    return view;
  }

  /** Those of the documents that are there, by id: four queries at most, and a look at each lock under which one is processed. */
  async readAll(ids: readonly string[]): Promise<Map<string, DocumentView>> {
    const places = await this.queue.places(ids);
    const views = await this.views(await this.documents.findAll(ids), places);
    return new Map(views.map((view) => [view.id, view]));
  }

  /** The newest documents first. @throws InvalidCursorError */
  async list(part: PagePart): Promise<DocumentListView> {
    const { items, nextCursor } = await this.documents.list(part);
    const places = await this.queue.places(items.map(({ id }) => id));
    return { items: await this.views(items, places), nextCursor };
  }

  /** In the order of the records. */
  private async views(
    records: readonly DocumentRecord[],
    seen: ReadonlyMap<string, QueuePlace>,
  ): Promise<DocumentView[]> {
    const isAlive = await Promise.all(records.map((record) => this.workerLives(record)));
    const ended = records.filter((record) => mayHaveEnded(record, seen.get(record.id)));
    const places = new Map([
      ...seen,
      ...ended.map(({ id }) => [id, null] as const),
      ...(await this.queue.places(ended.map(({ id }) => id))),
    ]);
    const doubtful = records.filter((_, index) => !isAlive[index]).map(({ id }) => id);
    // A run may have ended between the two looks; only a row that still says the same is abandoned.
    const rows = doubtful.length === 0 ? [] : await this.documents.findAll(doubtful);
    const again = new Map(rows.map((row) => [row.id, row]));
    return records.flatMap((record, index) => {
      const place = places.get(record.id) ?? null;
      if (isAlive[index]) return [toView(record, { isInterrupted: false, place })];
      const now = again.get(record.id);
      if (now === undefined) return []; // deleted in between
      const isInterrupted = now.state === 'processing' && now.fence === record.fence;
      return [toView(now, { isInterrupted, place: isInterrupted ? place : null })];
    });
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

/**
 * Whether a run was under way by the queue and is not by the row: it has ended since, or is about to begin. The
 * queue knows, since a run leaves it with its outcome.
 */
function mayHaveEnded({ state }: DocumentRecord, place: QueuePlace | undefined): boolean {
  return place !== undefined && !place.isWaiting && state !== 'processing';
}
