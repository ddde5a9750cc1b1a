import { Injectable } from '@nestjs/common';
import { identity, map, merge, Observable, share, take, takeUntil, takeWhile, timer } from 'rxjs';
import { Drain } from '../http/index.js';
import { DocumentReader } from './document-reader.js';
import { type DocumentView } from './dto/document.view.js';
import { StreamSlots } from './stream-slots.js';
import { WatchedDocuments } from './watched-documents.js';

/** One event of a document's stream. */
export interface ProgressEvent {
  readonly type: 'progress' | 'deleted' | 'ping';
  readonly data: DocumentView | Record<string, never>;
}

/** Who watches, and how. */
export interface Watcher {
  /** For whom the stream counts. */
  readonly client: string;
  /** Aborts when the response has ended, however it did. */
  readonly ended: AbortSignal;
  /** Whether the document as it is will do. */
  readonly isOnce: boolean;
}

// Proxies cut connections that stay silent for a minute.
const pingMs = 15_000;

/** Follows documents for their watchers, whichever replica does the work. */
@Injectable()
export class ProgressStream {
  private readonly slots = new StreamSlots();
  private readonly documents: WatchedDocuments;
  private readonly stop: Observable<void>;

  constructor(
    private readonly reader: DocumentReader,
    drain: Drain,
  ) {
    this.documents = new WatchedDocuments(reader);
    this.stop = new Observable<void>((subscriber) => {
      const abort = () => subscriber.next();
      if (drain.signal.aborted) abort();
      else drain.signal.addEventListener('abort', abort, { once: true });
      return () => drain.signal.removeEventListener('abort', abort);
    }).pipe(share());
  }

  /**
   * The document as it is and (unless `isOnce`) every change of it, until it is deleted, the watcher
   * leaves or the process shuts down.
   * @throws DocumentNotFoundError, StreamLimitError, StreamsFullError
   */
  async watch(id: string, { client, ended, isOnce }: Watcher): Promise<Observable<ProgressEvent>> {
    this.slots.take(client, ended);
    const known = this.documents.has(id) ? null : await this.reader.read(id);
    const changes = this.documents
      .changes(id, known)
      .pipe(
        map((view): ProgressEvent =>
          view ? { type: 'progress', data: view } : { type: 'deleted', data: {} },
        ),
      );
    const pings = timer(pingMs, pingMs).pipe(
      map((): ProgressEvent => ({ type: 'ping', data: {} })),
    );
    return merge(changes, pings).pipe(
      takeWhile(({ type }) => type !== 'deleted', true),
      takeUntil(this.stop),
      isOnce ? take(1) : identity,
    );
  }

  /** How many documents are being polled. */
  get watchedDocuments(): number {
    return this.documents.size;
  }
}
