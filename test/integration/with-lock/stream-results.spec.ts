import { PassThrough, Writable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { StreamableFile } from '@nestjs/common';
import { eventually } from '../../support/eventually.js';
import type { Work } from './results-work.spec-support.js';
import { coverWork, lost } from './results.spec-support.js';

describe('what a lock covers', () => {
  const covered = coverWork();
  const { isHeld, expectHeld, loseLease, withShortTtl } = covered;
  let work: Work;
  let id: number;

  beforeEach(() => {
    ({ work, id } = covered);
  });

  describe('node streams', () => {
    it('are covered until they end', async () => {
      const stream = await work.stream(`${id}`, ['a', 'b']);
      await expectHeld();
      expect(await stream.toArray()).toEqual(['a', 'b']);
    });

    it('are covered until they fail', async () => {
      const stream = await work.give(`${id}`, new PassThrough());
      await expectHeld();
      const failed = new Promise((resolve) => stream.once('error', resolve));
      stream.destroy(new RangeError());
      expect(await failed).toBeInstanceOf(RangeError);
    });

    it('are covered until they are closed early', async () => {
      const stream = await work.stream(`${id}`, ['a', 'b', 'c']);
      for await (const chunk of stream) {
        expect(chunk).toBe('a');
        await expectHeld();
        break;
      }
    });

    it('are covered when only written', async () => {
      const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
      await work.give(`${id}`, sink);
      await expectHeld();
      sink.end('x');
    });

    it('that have ended already do not hold it', async () => {
      const stream = new PassThrough();
      stream.end().resume();
      await new Promise((resolve) => stream.once('close', resolve));
      await work.give(`${id}`, stream);
    });

    it('are destroyed when the lease is lost', async () => {
      const stream = await withShortTtl(() => work.give(`${id}`, new PassThrough()));
      await loseLease();
      const error = await new Promise((resolve) => stream.once('error', resolve));
      expect(error).toEqual(lost);
    });

    it('of a StreamableFile are covered, and the file stays the same', async () => {
      const file = await work.file(`${id}`);
      expect(file).toBeInstanceOf(StreamableFile);
      await expectHeld();
      expect(await file.getStream().toArray()).toEqual(['a', 'b']);
    });
  });

  describe('web streams', () => {
    const read = async (stream: ReadableStream<number>) => {
      const chunks: number[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    };

    it('are covered until they close', async () => {
      const stream = await work.web(`${id}`);
      await expectHeld();
      expect(await read(stream)).toEqual([1, 2, 3]);
      expect(await isHeld()).toBe(false);
    });

    it('are covered until they are cancelled, and so is the source', async () => {
      const reasons: unknown[] = [];
      const stream = await work.web(`${id}`, (reason) => reasons.push(reason));
      const reader = stream.getReader();
      expect((await reader.read()).value).toBe(1);
      await expectHeld();
      await reader.cancel('enough');
      expect(reasons).toEqual(['enough']);
      expect(await isHeld()).toBe(false);
    });

    it('are covered until they fail', async () => {
      const source = new ReadableStream({
        pull: () => {
          throw new RangeError();
        },
      });
      const stream = await work.give(`${id}`, source);
      await expect(read(stream)).rejects.toThrow(RangeError);
    });

    it('fail when the lease is lost, and the source is cancelled', async () => {
      const reasons: unknown[] = [];
      const endless = new ReadableStream<number>({ cancel: (reason) => void reasons.push(reason) });
      const stream = await withShortTtl(() => work.give(`${id}`, endless));
      const reading = read(stream).catch((error: unknown) => error);
      await loseLease();
      expect(await reading).toEqual(lost);
      await eventually(() => reasons.length === 1);
      expect(reasons).toEqual([lost]);
    });

    it('that somebody reads already cannot be covered', async () => {
      const taken = new ReadableStream<number>();
      taken.getReader();
      await expect(work.give(`${id}`, taken)).rejects.toThrow(/locked/);
    });
  });
});
