import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DocumentNotFoundError } from './documents.errors.js';
import { type DocumentView } from './dto/document.view.js';
import { type ProgressEvent, ProgressStream } from './progress-stream.js';

/** A reader whose one document is what the test says; null: there is none. */
class ScriptedReader {
  document: Partial<DocumentView> | null = { state: 'uploaded' };
  error: Error | undefined;
  looks = 0;

  async peek(): Promise<DocumentView | null> {
    this.looks += 1;
    if (this.error) throw this.error;
    return this.document as DocumentView | null;
  }

  async read(id: string): Promise<DocumentView> {
    if (!this.document) throw new DocumentNotFoundError(id);
    return this.document as DocumentView;
  }
}

describe('the stream of a document’s progress', () => {
  let reader: ScriptedReader;
  let shutdown: AbortController;
  let stream: ProgressStream;

  beforeEach(() => {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    reader = new ScriptedReader();
    shutdown = new AbortController();
    stream = new ProgressStream(reader as never, { signal: shutdown.signal } as never);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const watch = async (id = 'a') => {
    const events: ProgressEvent[] = [];
    let isOver = false;
    const changes = await stream.watch(id);
    const subscription = changes.subscribe({
      next: (event) => events.push(event),
      complete: () => (isOver = true),
    });
    return {
      leave: () => subscription.unsubscribe(),
      isOver: () => isOver,
      states: () => events.map(({ type, data }) => ('state' in data ? data.state : type)),
    };
  };

  it('polls a document once for all of its watchers, and not at all without', async () => {
    const one = await watch();
    await jest.advanceTimersByTimeAsync(600);
    const two = await watch();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(reader.looks).toBe(6);
    expect(two.states()).toEqual(['uploaded']);
    reader.document = { state: 'processing' };
    await jest.advanceTimersByTimeAsync(500);
    expect(one.states()).toEqual(['uploaded', 'processing']);
    expect(two.states()).toEqual(['uploaded', 'processing']);
    one.leave();
    expect(stream.watchedDocuments).toBe(1);
    two.leave();
    expect(stream.watchedDocuments).toBe(0);
    const looks = reader.looks;
    await jest.advanceTimersByTimeAsync(5_000);
    expect(reader.looks).toBe(looks);
    const three = await watch();
    await jest.advanceTimersByTimeAsync(0);
    expect(three.states()).toEqual(['processing']);
    three.leave();
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
    await expect(stream.watch('a')).rejects.toThrow(DocumentNotFoundError);
  });
});
