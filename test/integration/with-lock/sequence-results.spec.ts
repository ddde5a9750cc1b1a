import { beforeEach, describe, expect, it } from '@jest/globals';
import { concat, lastValueFrom, NEVER, Observable, of, take, toArray } from 'rxjs';
import {
  currentLease,
  LockBusyError,
  LockLostError,
  type LockService,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import type { Work } from './results-work.spec-support.js';
import { coverWork, lost } from './results.spec-support.js';

describe('what a lock covers', () => {
  const covered = coverWork();
  const { name, isHeld, expectHeld, loseLease, withShortTtl } = covered;
  let work: Work;
  let locks: LockService;
  let id: number;

  beforeEach(() => {
    ({ work, locks, id } = covered);
  });

  describe('Observables', () => {
    it('are covered until they complete, which is told after the release', async () => {
      const source = await work.observable(`${id}`, of(1, 2, 3));
      await expectHeld();
      expect(await lastValueFrom(source.pipe(toArray()))).toEqual([1, 2, 3]);
      expect(await isHeld()).toBe(false);
      await expect(lastValueFrom(source)).rejects.toMatchObject({ reason: 'RELEASED' });
      expect(work.subscriptions).toBe(1);
    });

    it('are covered until they fail', async () => {
      const failing = new Observable<never>((subscriber) => subscriber.error(new RangeError()));
      const source = await work.observable(`${id}`, failing);
      await expect(lastValueFrom(source)).rejects.toThrow(RangeError);
      expect(await isHeld()).toBe(false);
    });

    it('are covered until the last one unsubscribes', async () => {
      const source = await work.observable(`${id}`, concat(of(1), NEVER));
      const one = source.subscribe();
      const other = source.subscribe();
      one.unsubscribe();
      await expectHeld();
      other.unsubscribe();
    });

    it('are covered when cut short by an operator', async () => {
      const source = await work.observable(`${id}`, concat(of(1), NEVER));
      expect(await lastValueFrom(source.pipe(take(1)))).toBe(1);
    });

    it('run in the context of the lease', async () => {
      const source = new Observable<unknown>((subscriber) => {
        subscriber.next(currentLease()?.name);
        subscriber.complete();
      });
      expect(await lastValueFrom(await work.observable(`${id}`, source))).toBe(name());
    });

    it('fail when the lease is lost', async () => {
      const source = await withShortTtl(() => work.observable(`${id}`, NEVER));
      const failed = lastValueFrom(source).catch((error: unknown) => error);
      await loseLease();
      expect(await failed).toEqual(lost);
    });

    it('that nobody ever subscribes to let go when the lease ends', async () => {
      const source = await withShortTtl(() => work.observable(`${id}`, NEVER));
      await loseLease();
      await eventually(() =>
        lastValueFrom(source).then(
          () => false,
          (error: unknown) => error instanceof LockLostError,
        ),
      );
    });
  });

  describe('async generators', () => {
    it('take the lock with their first step and give it back when done', async () => {
      const generator = work.generate(`${id}`, 2);
      expect(await isHeld()).toBe(false);
      expect(await generator.next()).toEqual({ done: false, value: `0 ${name()}` });
      await expectHeld();
      expect(await generator.next()).toEqual({ done: false, value: `1 ${name()}` });
      expect(await generator.next()).toEqual({ done: true, value: 'end' });
      expect(await isHeld()).toBe(false);
      expect(await generator.next()).toEqual({ done: true, value: undefined });
    });

    it('give it back when left early', async () => {
      const { cleanedUp } = work;
      for await (const step of work.generate(`${id}`, 9)) {
        expect(step).toBe(`0 ${name()}`);
        break;
      }
      expect(await isHeld()).toBe(false);
      expect(work.cleanedUp).toBe(cleanedUp + 1);
    });

    it('give it back when they throw, at their own or at their consumer’s will', async () => {
      const own = work.generate(`${id}`, 9);
      await own.next();
      await expect(own.next('throw')).rejects.toThrow(RangeError);
      expect(await isHeld()).toBe(false);
      const told = work.generate(`${id}`, 9);
      await told.next();
      await expect(told.throw(new EvalError())).rejects.toThrow(EvalError);
      expect(await isHeld()).toBe(false);
    });

    it('that are never stepped never take it', async () => {
      const generator = work.generate(`${id}`, 1);
      await generator.return('early');
      expect(await isHeld()).toBe(false);
    });

    it('fail at their first step when it is busy, or end at once if they skip', async () => {
      const lease = await locks.acquire(name());
      await expect(work.generate(`${id}`, 1).next()).rejects.toThrow(LockBusyError);
      expect(await work.skipped(`${id}`).next()).toEqual({ done: true, value: undefined });
      await lease.release();
    });

    it('throw when the lease is lost between two steps, once, and clean up', async () => {
      const { cleanedUp } = work;
      const generator = work.generate(`${id}`, 9);
      await withShortTtl(() => generator.next());
      await loseLease();
      await eventually(() => work.cleanedUp === cleanedUp + 1);
      await expect(generator.next()).rejects.toEqual(lost);
      expect(await generator.next()).toEqual({ done: true, value: undefined });
    });

    it('throw when the lease is lost during a step', async () => {
      async function* slow() {
        await eventually(() => currentLease()?.signal.aborted);
        yield 'too late';
      }
      const generator = await withShortTtl(() => work.give(`${id}`, slow()));
      const step = generator.next();
      await loseLease();
      await expect(step).rejects.toEqual(lost);
    });

    it('that a promise gives are covered from the call on', async () => {
      async function* two() {
        yield currentLease()?.name;
        yield 2;
      }
      const generator = await work.give(`${id}`, two());
      await expectHeld();
      const seen: unknown[] = [];
      for await (const step of generator) seen.push(step);
      expect(seen).toEqual([name(), 2]);
      expect(await isHeld()).toBe(false);
    });

    it('hidden behind another decorator can be iterated all the same', async () => {
      const seen: string[] = [];
      for await (const step of work.hidden(`${id}`)) seen.push(step);
      expect(seen).toEqual([`hidden ${id} ${name()}`, 'more']);
      expect(await isHeld()).toBe(false);
    });
  });
});
