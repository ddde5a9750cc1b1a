import { PassThrough } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { StreamableFile } from '@nestjs/common';
import { NEVER } from 'rxjs';
import { currentLease, type LockService } from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import type { Work } from './results-work.spec-support.js';
import { coverWork, lost } from './results.spec-support.js';

describe('what a lock covers', () => {
  const covered = coverWork();
  const { name, isHeld, loseLease, withShortTtl, currentHolders } = covered;
  let work: Work;
  let locks: LockService;
  let id: number;

  beforeEach(() => {
    ({ work, locks, id } = covered);
  });

  describe('promises', () => {
    it.each([0, '', null, undefined, 'x', [1], { a: 1 }])('gives %p back', async (value) => {
      expect(await work.value(`${id}`, value)).toBe(value);
      expect(await isHeld()).toBe(false);
    });

    it('takes any thenable', async () => {
      expect(await work.thenable(`${id}`)).toBe(`then ${id} ${name()}`);
    });

    it('makes a promise of what a method gives at once', async () => {
      const result: unknown = work.sync(`${id}`);
      expect(result).toBeInstanceOf(Promise);
      expect(await result).toBe(`sync ${id} ${name()}`);
    });

    it.each(['fail', 'failAtOnce'] as const)(
      '%s: passes the error on, lock free',
      async (method) => {
        await expect(work[method](`${id}`)).rejects.toThrow(RangeError);
        expect(await isHeld()).toBe(false);
      },
    );

    it('nests two locks on one method', async () => {
      expect(await work.twice(`${id}`)).toBe(`${id} ${name()}`);
      expect(await locks.inspect(`outer:${id}`)).toBeNull();
    });

    it('refuses to take the same lock again, and shares it if asked to', async () => {
      await expect(work.outer(`${id}`, 'value')).rejects.toThrow(/already held by this call/);
      const [inner, outer] = (await work.outer(`${id}`, 'shared')) as unknown[];
      expect(inner).toBe(outer);
    });

    it('refuses a value that cannot name a lock before it asks the store', async () => {
      const before = currentHolders.length;
      for (const bad of [undefined, null, {}, ['a'], '']) {
        await expect(work.value(bad as string, 1)).rejects.toMatchObject({ code: 'LOCK_OPTIONS' });
      }
      expect(currentHolders).toHaveLength(before);
    });

    it('tells of a lease that was lost during the work', async () => {
      const gone = withShortTtl(() =>
        work.give(
          `${id}`,
          eventually(() => false, { timeoutMs: 900 }).catch(() => 'done'),
        ),
      );
      await eventually(isHeld);
      await loseLease();
      await expect(gone).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'done' });
    });
  });

  describe('what comes after the lease was lost', () => {
    /** Gives `result` only when its lease is gone. */
    const giveTooLate = async (result: unknown) => {
      const late = () => eventually(() => currentLease()?.signal.aborted).then(() => result);
      const given = withShortTtl(() => work.later(`${id}`, late));
      await eventually(isHeld);
      await loseLease();
      await expect(given).rejects.toEqual(lost);
    };

    it('is destroyed, cancelled or returned from', async () => {
      const stream = new PassThrough();
      await giveTooLate(stream);
      expect(stream.errored).toEqual(lost);
      const reasons: unknown[] = [];
      await giveTooLate(new ReadableStream({ cancel: (reason) => void reasons.push(reason) }));
      expect(reasons).toEqual([lost]);
      const file = new PassThrough();
      await giveTooLate(new StreamableFile(file));
      expect(file.destroyed).toBe(true);
      const generator = work.generate(`${id}-inner`, 1);
      await giveTooLate(generator);
      expect(await generator.next()).toEqual({ done: true, value: undefined });
      await giveTooLate(NEVER);
    });
  });
});
