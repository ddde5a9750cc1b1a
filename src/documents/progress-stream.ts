import { Injectable, Logger } from '@nestjs/common';
import {
  catchError,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  finalize,
  identity,
  from,
  map,
  merge,
  Observable,
  share,
  ReplaySubject,
  take,
  takeUntil,
  takeWhile,
  timer,
} from 'rxjs';
import { Drain } from '../http/index.js';
import { DocumentReader } from './document-reader.js';
import { type DocumentView } from './dto/document.view.js';

/** One event of a document's stream. */
export interface ProgressEvent {
  readonly type: 'progress' | 'deleted' | 'ping';
  readonly data: DocumentView | Record<string, never>;
}

const pollMs = 500;
// Proxies cut connections that stay silent for a minute.
const pingMs = 15_000;

/**
 * Follows documents for as many watchers as there are: one query every 500 ms per watched document
 * and replica, whichever replica does the work.
 */
@Injectable()
export class ProgressStream {
  private readonly logger = new Logger(ProgressStream.name);
  private readonly watched = new Map<string, Observable<DocumentView | null>>();
  private readonly stop: Observable<void>;

  constructor(
    private readonly reader: DocumentReader,
    drain: Drain,
  ) {
    this.stop = new Observable((subscriber) => {
      const abort = () => subscriber.next();
      if (drain.signal.aborted) abort();
      else drain.signal.addEventListener('abort', abort, { once: true });
      return () => drain.signal.removeEventListener('abort', abort);
    });
  }

  /**
   * The document as it is and (unless `isOnce`) every change of it, until it is deleted, the watcher
   * leaves or the process shuts down.
   * @throws DocumentNotFoundError
   */
  async watch(id: string, { isOnce = false } = {}): Promise<Observable<ProgressEvent>> {
    await this.reader.read(id);
    const changes = this.changes(id).pipe(
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
    return this.watched.size;
  }

  private changes(id: string): Observable<DocumentView | null> {
    const shared = this.watched.get(id) ?? this.poll(id);
    this.watched.set(id, shared);
    return shared;
  }

  private poll(id: string): Observable<DocumentView | null> {
    return timer(0, pollMs).pipe(
      exhaustMap(() =>
        from(this.reader.peek(id)).pipe(catchError((error) => this.skip(id, error))),
      ),
      distinctUntilChanged((before, now) => JSON.stringify(before) === JSON.stringify(now)),
      finalize(() => this.watched.delete(id)),
      share({
        connector: () => new ReplaySubject(1), // who joins later begins with the present state
        resetOnRefCountZero: true,
      }),
    );
  }

  /** A query that fails costs one event; the watchers stay. */
  private skip(id: string, error: unknown): Observable<never> {
    this.logger.debug(`Document ${id} cannot be looked at: ${String(error)}`);
    return EMPTY;
  }
}
