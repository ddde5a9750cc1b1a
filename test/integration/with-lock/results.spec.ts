import { PassThrough, Readable, Writable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext, StreamableFile } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { concat, lastValueFrom, NEVER, Observable, of, take, toArray } from 'rxjs';
import {
  currentLease,
  LockBusyError,
  LockLostError,
  LockModule,
  type LockOptions,
  LockService,
  MemoryLockStore,
  WithLock,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';

const store = new MemoryLockStore();

/** Any decorator that wraps without saying what it wraps. */
function Wrapped(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    return original.apply(this, args);
  };
}

@Injectable()
class Work {
  cleanedUp = 0;
  subscriptions = 0;

  @WithLock('r:<id>')
  async value<T>(id: string, value: T): Promise<T> {
    expect(currentLease()?.name).toBe(`r:${id}`);
    return value;
  }

  @WithLock('r:<id>')
  thenable(id: string): PromiseLike<string> {
    return {
      then: (resolve) => Promise.resolve(`then ${id} ${currentLease()?.name}`).then(resolve),
    };
  }

  // @ts-expect-error what JavaScript can do all the same
  @WithLock('r:<id>')
  sync(id: string): string {
    return `sync ${id} ${currentLease()?.name}`;
  }

  @WithLock('r:<id>')
  async fail(id: string): Promise<never> {
    throw new RangeError(id);
  }

  @WithLock('r:<id>')
  failAtOnce(id: string): Promise<never> {
    throw new RangeError(id);
  }

  @WithLock('r:<_id>')
  async stream(_id: string, chunks: Iterable<string>): Promise<Readable> {
    return Readable.from(chunks);
  }

  @WithLock('r:<_id>')
  async give<T>(_id: string, result: T): Promise<T> {
    return result;
  }

  @WithLock('r:<_id>')
  async later<T>(_id: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  @WithLock('r:<_id>')
  async file(_id: string): Promise<StreamableFile> {
    return new StreamableFile(Readable.from(['a', 'b']));
  }

  @WithLock('r:<_id>')
  async web(_id: string, onCancel: (reason: unknown) => void = () => {}) {
    let chunk = 0;
    return new ReadableStream<number>({
      pull(controller) {
        if (chunk === 3) controller.close();
        else controller.enqueue((chunk += 1));
      },
      cancel: onCancel,
    });
  }

  @WithLock('r:<_id>')
  async observable<T>(_id: string, source: Observable<T>): Promise<Observable<T>> {
    return new Observable<T>((subscriber) => {
      this.subscriptions += 1;
      return source.subscribe(subscriber);
    });
  }

  @WithLock('r:<id>')
  async *generate(id: string, count: number): AsyncGenerator<string, string, string | undefined> {
    try {
      for (let step = 0; step < count; step += 1) {
        const sent = yield `${step} ${currentLease()?.name}`;
        if (sent === 'throw') throw new RangeError(id);
      }
      return 'end';
    } finally {
      this.cleanedUp += 1;
    }
  }

  @WithLock((id: string) => `r:${id}`)
  @Wrapped
  async *hidden(id: string): AsyncGenerator<string> {
    yield `hidden ${id} ${currentLease()?.name}`;
    yield 'more';
  }

  @WithLock('r:<id>', { onBusy: 'skip' })
  async *skipped(id: string): AsyncGenerator<string> {
    yield id;
  }

  @WithLock('outer:<id>')
  @WithLock('r:<id>')
  async twice(id: string): Promise<string | undefined> {
    return `${id} ${currentLease()?.name}`;
  }

  @WithLock('r:<id>', { reentrant: true })
  async shared(id: string): Promise<string | undefined> {
    return `${id} ${currentLease()?.fence}`;
  }

  @WithLock('r:<id>')
  async outer(id: string, inner: 'shared' | 'value'): Promise<unknown> {
    const fence = currentLease()?.fence;
    return [await this[inner](id, 1), `${id} ${fence}`];
  }
}

describe('what a lock covers', () => {
  let app: INestApplicationContext;
  let work: Work;
  let locks: LockService;
  let id = 0;
  const granted: bigint[] = [];
  const released: bigint[] = [];

  beforeAll(async () => {
    app = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store, shutdownGraceMs: 0 })],
      providers: [Work],
    }).compile();
    await app.init();
    work = app.get(Work);
    locks = app.get(LockService);
    locks.events.on('granted', ({ fence }) => granted.push(fence));
    locks.events.on('released', ({ fence }) => released.push(fence));
  });
  afterAll(() => app.close());
  afterEach(async () => {
    await expectFree();
    // Whatever the work's end was like: every grant is released, and once.
    const byValue = (one: bigint, other: bigint) => Number(one - other);
    await eventually(() => released.length >= granted.length, { what: 'every release' });
    expect(released.toSorted(byValue)).toEqual(granted.toSorted(byValue));
    id += 1;
  });

  const name = () => `r:${id}`;
  const isHeld = async () => (await locks.inspect(name())) !== null;
  const expectHeld = async () => {
    expect(await isHeld()).toBe(true);
    await expect(locks.acquire(name())).rejects.toThrow(LockBusyError);
  };
  const expectFree = () => eventually(async () => !(await isHeld()), { what: 'the release' });

  /** Somebody deletes the key, and the next renewal finds out. */
  const loseLease = async (lease = currentHolders.at(-1)) => {
    expect(lease).toBeDefined();
    await store.release(name(), lease ?? '');
  };
  const currentHolders: string[] = [];
  beforeAll(() => {
    const acquire = store.tryAcquire.bind(store);
    store.tryAcquire = async (lock, token, ttlMs) => {
      const reply = await acquire(lock, token, ttlMs);
      if (reply.status === 'granted') currentHolders.push(token);
      return reply;
    };
  });
  /** A short TTL, so that a loss is found soon. */
  const withShortTtl = <T>(call: () => T): T => {
    const { engine } = locks as unknown as { engine: { defaults: LockOptions } };
    const { defaults } = engine;
    engine.defaults = { ...defaults, ttlMs: 1_500, commandTimeoutMs: 500 };
    try {
      return call();
    } finally {
      engine.defaults = defaults;
    }
  };
  const lost = expect.objectContaining({ name: 'LockLostError', reason: 'NOT_OWNER' });

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
