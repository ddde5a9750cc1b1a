import { setImmediate as nextTurn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { exhaustMap, Observable, ReplaySubject, type Subscription, timer } from 'rxjs';
import { type DocumentReader } from './document-reader.js';
import { type DocumentView } from './dto/document.view.js';

/** One document that is watched. */
interface Watched {
  /** Who joins later begins with the present state. */
  readonly changes: ReplaySubject<DocumentView | null>;
  watchers: number;
  /** What was emitted last, to tell a change. */
  last: string;
}

const POLL_MS = 500;
/** Of a query, so that no look keeps the main loop from everything else. */
const MAX_IDS_PER_QUERY = 100;

/**
 * Looks at all documents that anybody watches on this replica, every 500 ms: one query for each hundred
 * of them, however many watch the same one, and none while nobody watches anything.
 */
export class WatchedDocuments {
  private readonly logger = new Logger(WatchedDocuments.name);
  private readonly watched = new Map<string, Watched>();
  private polling: Subscription | undefined;

  constructor(private readonly reader: DocumentReader) {}

  /** How many documents are looked at. */
  get size(): number {
    return this.watched.size;
  }

  has(id: string): boolean {
    return this.watched.has(id);
  }

  /** The document as it is and every change of it; null once it is deleted. `known`: what the caller has just read. */
  changes(id: string, known: DocumentView | null): Observable<DocumentView | null> {
    return new Observable((subscriber) => {
      const entry = this.watched.get(id) ?? this.add(id, known);
      entry.watchers += 1;
      subscriber.add(() => {
        entry.watchers -= 1;
        if (entry.watchers === 0) this.remove(id);
      });
      subscriber.add(entry.changes.subscribe(subscriber));
    });
  }

  private add(id: string, known: DocumentView | null): Watched {
    const entry = { changes: new ReplaySubject<DocumentView | null>(1), watchers: 0, last: '' };
    this.watched.set(id, entry);
    if (known) this.emit(entry, known);
    this.polling ??= timer(known ? POLL_MS : 0, POLL_MS)
      .pipe(exhaustMap(() => this.poll()))
      .subscribe();
    return entry;
  }

  private remove(id: string): void {
    this.watched.delete(id);
    if (this.watched.size > 0) return;
    this.polling?.unsubscribe();
    this.polling = undefined;
  }

  private async poll(): Promise<void> {
    const entries = [...this.watched];
    for (let from = 0; from < entries.length; from += MAX_IDS_PER_QUERY) {
      if (from > 0) await nextTurn();
      await this.look(entries.slice(from, from + MAX_IDS_PER_QUERY));
    }
  }

  /** A query that fails costs one event; the watchers stay. */
  private async look(entries: readonly (readonly [string, Watched])[]): Promise<void> {
    try {
      const views = await this.reader.readAll(entries.map(([id]) => id));
      for (const [id, entry] of entries) this.emit(entry, views.get(id) ?? null);
    } catch (error) {
      this.logger.debug(`${entries.length} documents cannot be looked at: ${String(error)}`);
    }
  }

  private emit(entry: Watched, view: DocumentView | null): void {
    const now = JSON.stringify(view);
    if (now === entry.last) return;
    entry.last = now;
    entry.changes.next(view);
  }
}
