import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { expect } from '@jest/globals';
import { Injectable, StreamableFile } from '@nestjs/common';
import { Observable } from 'rxjs';
import { currentLease, WithLock } from '../../../src/lock/index.js';

/** Any decorator that wraps without saying what it wraps. */
function Wrapped(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    return original.apply(this, args);
  };
}

/** Methods under a lock `r:<id>`, one for each kind of result that a lock covers. */
@Injectable()
export class Work {
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
