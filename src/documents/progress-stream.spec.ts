import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DocumentNotFoundError, StreamLimitError, StreamsFullError } from './documents.errors.js';
import { type DocumentView } from './dto/document.view.js';
import { type ProgressEvent, ProgressStream } from './progress-stream.js';

/** A reader of documents that are all as the test says; null: there are none. */
class ScriptedReader {
  document: Partial<DocumentView> | null = { state: 'uploaded' };
  error: Error | undefined;
  /** The ids of each look. */
  readonly looks: (readonly string[])[] = [];

  async readAll(ids: readonly string[]): Promise<Map<string, DocumentView>> {
    this.looks.push(ids);
    if (this.error) throw this.error;
    const { document } = this;
    return new Map(document ? ids.map((id) => [id, document as DocumentView]) : []);
  }

  async read(id: string): Promise<DocumentView> {
    const view = (await this.readAll([id])).get(id);
    if (!view) throw new DocumentNotFoundError(id);
    return view;
  }
}

describe('the stream of a document’s progress', () => {
  let reader: ScriptedReader;
  let shutdown: AbortController;
  let stream: ProgressStream;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    Logger.overrideLogger(false);
    reader = new ScriptedReader();
    shutdown = new AbortController();
    stream = new ProgressStream(reader as never, { signal: shutdown.signal } as never);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const watch = async (id = 'a', client = 'somebody') => {
    const events: ProgressEvent[] = [];
    let isOver = false;
    const response = new AbortController();
    const changes = await stream.watch(id, { client, ended: response.signal, isOnce: false });
    const subscription = changes.subscribe({
      next: (event) => events.push(event),
      complete: () => (isOver = true),
    });
    return {
      leave: () => {
        subscription.unsubscribe();
        response.abort();
      },
      isOver: () => isOver,
      states: () => events.map(({ type, data }) => ('state' in data ? data.state : type)),
    };
  };

  it('polls a document once for all of its watchers, and not at all without', async () => {
    const one = await watch();
    await jest.advanceTimersByTimeAsync(600);
    const two = await watch();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(reader.looks.length).toBe(6);
    expect(two.states()).toEqual(['uploaded']);
    reader.document = { state: 'processing' };
    await jest.advanceTimersByTimeAsync(500);
    expect(one.states()).toEqual(['uploaded', 'processing']);
    expect(two.states()).toEqual(['uploaded', 'processing']);
    one.leave();
    expect(stream.watchedDocuments).toBe(1);
    two.leave();
    expect(stream.watchedDocuments).toBe(0);
    const looks = reader.looks.length;
    await jest.advanceTimersByTimeAsync(5_000);
    expect(reader.looks.length).toBe(looks);
    const three = await watch();
    await jest.advanceTimersByTimeAsync(0);
    expect(three.states()).toEqual(['processing']);
    three.leave();
  });

  it('looks at all watched documents together, a hundred at a time', async () => {
    const watchers = await Promise.all(
      Array.from({ length: 250 }, (_, i) => watch(`d${i}`, `c${i}`)),
    );
    reader.looks.length = 0;
    reader.document = { state: 'processing' };
    await jest.advanceTimersByTimeAsync(500);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(reader.looks.map((ids) => ids.length)).toEqual([100, 100, 50]);
    expect(new Set(reader.looks.flat()).size).toBe(250);
    const seen = watchers.map((watcher) => watcher.states().join());
    expect(new Set(seen)).toEqual(new Set(['uploaded,processing']));
    for (const watcher of watchers) watcher.leave();
  });

  it('is refused to a client that has 100 already, and to everybody beyond 2 000', async () => {
    const streams = await Promise.all(
      Array.from({ length: 2_000 }, (_, i) => watch('a', `client ${Math.floor(i / 100)}`)),
    );
    await expect(watch('a', 'client 3')).rejects.toThrow(StreamLimitError);
    await expect(watch('a', 'another')).rejects.toThrow(StreamsFullError);
    streams[0]?.leave();
    const late = await watch('a', 'another');
    await expect(watch('a', 'client 0')).rejects.toThrow(StreamsFullError);
    for (const each of [...streams, late]) each.leave();
    (await watch('a', 'client 3')).leave();
  });

  it('survives a query that fails', async () => {
    const watcher = await watch();
    await jest.advanceTimersByTimeAsync(0);
    reader.error = new Error('the database is away');
    await jest.advanceTimersByTimeAsync(1_000);
    reader.error = undefined;
    reader.document = { state: 'ready' };
    await jest.advanceTimersByTimeAsync(500);
    expect(watcher.states()).toEqual(['uploaded', 'ready']);
    watcher.leave();
  });

  it('says something every 15 seconds, so that proxies keep the connection', async () => {
    const watcher = await watch();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(watcher.states()).toEqual(['uploaded', 'ping', 'ping']);
    watcher.leave();
  });

  it('ends at once when the process shuts down', async () => {
    const watcher = await watch();
    await jest.advanceTimersByTimeAsync(0);
    const other = await watch('b');
    await jest.advanceTimersByTimeAsync(0);
    shutdown.abort();
    expect([watcher.isOver(), other.isOver()]).toEqual([true, true]);
    expect(stream.watchedDocuments).toBe(0);
    const late = await watch();
    expect(late.isOver()).toBe(true);
  });

  it('ends with an event when the document is deleted, and does not begin without one', async () => {
    const watcher = await watch();
    await jest.advanceTimersByTimeAsync(0);
    reader.document = null;
    await jest.advanceTimersByTimeAsync(500);
    expect(watcher.states()).toEqual(['uploaded', 'deleted']);
    expect(watcher.isOver()).toBe(true);
    expect(stream.watchedDocuments).toBe(0);
    await expect(watch()).rejects.toThrow(DocumentNotFoundError);
  });
});
