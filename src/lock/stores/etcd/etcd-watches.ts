import type { Clock } from '../../core/clock.js';
import type { EtcdConnection, EtcdStream } from './etcd-connection.js';
import type { KeyRange, KeyValue } from './etcd-messages.js';

const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1_000;

/** What somebody wants to hear of. */
export interface Wish extends KeyRange {
  readonly events: 'puts' | 'deletes';
  /** The first revision that has not been seen; without it whatever comes from now on. */
  readonly fromRevision?: bigint;
  readonly onEvent: (kv: KeyValue) => void;
  /** Events may have been missed; from now on they come again. */
  readonly onGap: () => void;
}

/** All watches of a store over one stream, which is opened with the first and again when it breaks. */
export class EtcdWatches {
  private readonly wishes = new Map<string, Wish>();
  /** Those that a stream has carried: after it broke, events may have been missed. */
  private readonly carried = new Set<string>();
  /** The confirmation of these ends a gap. */
  private readonly reopened = new Set<string>();
  private stream: EtcdStream<'Watch/Watch'> | undefined;
  private opening = false;
  private isClosed = false;
  private pauseMs = FIRST_PAUSE_MS;
  private lastId = 0;

  constructor(
    private readonly connection: EtcdConnection,
    private readonly clock: Clock,
  ) {}

  /** Begins to watch. Returns what ends it. */
  add(wish: Wish): () => void {
    const id = String((this.lastId += 1));
    this.wishes.set(id, wish);
    if (this.stream) this.create(id, wish, wish.fromRevision);
    else this.open();
    return () => {
      if (this.wishes.delete(id)) this.stream?.write({ cancel: { watchId: id } });
      this.carried.delete(id);
      this.reopened.delete(id);
    };
  }

  /** Another member is in use: the stream moves to it. */
  restart(): void {
    if (this.stream) this.broken(this.stream, 0);
  }

  close(): void {
    this.isClosed = true;
    this.wishes.clear();
    this.stream?.cancel();
  }

  private open(): void {
    if (this.opening || this.isClosed || this.wishes.size === 0) return;
    this.opening = true;
    this.connection
      .stream('Watch/Watch')
      .then((stream) => {
        this.opening = false;
        if (this.isClosed) return stream.cancel();
        this.listen(stream);
      })
      .catch(() => {
        this.opening = false;
        this.openLater();
      });
  }

  private listen(stream: EtcdStream<'Watch/Watch'>): void {
    this.stream = stream;
    stream.on('error', () => this.broken(stream, this.pauseMs));
    stream.on('end', () => this.broken(stream, this.pauseMs));
    stream.on('data', ({ watchId, created, canceled, events }) => {
      const wish = this.wishes.get(watchId);
      if (!wish || this.stream !== stream) return;
      this.pauseMs = FIRST_PAUSE_MS;
      if (canceled) {
        // The revision it asked for is compacted, or the member is leaving: from now on, then.
        this.reopened.add(watchId);
        return this.create(watchId, wish, undefined);
      }
      if (created && this.reopened.delete(watchId)) wish.onGap();
      for (const { kv } of events) wish.onEvent(kv);
    });
    for (const [id, wish] of this.wishes) {
      if (this.carried.has(id)) this.reopened.add(id);
      this.create(id, wish, this.carried.has(id) ? undefined : wish.fromRevision);
    }
  }

  private create(watchId: string, { key, rangeEnd, events }: Wish, from: bigint | undefined): void {
    const filters = [events === 'puts' ? 'NODELETE' : 'NOPUT'] as const;
    const startRevision = from === undefined ? undefined : String(from);
    this.carried.add(watchId);
    this.stream?.write({ create: { key, rangeEnd, watchId, startRevision, filters } });
  }

  private broken(stream: EtcdStream<'Watch/Watch'>, pauseMs: number): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    stream.cancel();
    if (pauseMs === 0) this.open();
    else this.openLater();
  }

  private openLater(): void {
    if (this.isClosed) return;
    this.clock.setTimer(() => this.open(), this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, LAST_PAUSE_MS);
  }
}
