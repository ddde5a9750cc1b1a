import { Stream } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { StreamableFile } from '@nestjs/common';
import { isObservable } from 'rxjs';
import type { Hold } from '../core/hold.js';
import { CoveredGenerator, isAsyncGenerator } from './cover-generator.js';
import { coverObservable } from './cover-observable.js';
import { coverStream } from './cover-stream.js';
import { coverWebStream } from './cover-web-stream.js';

/**
 * What the caller of a locked method gets for its result. A value ends the hold; whatever goes on
 * producing (a stream, a StreamableFile, an Observable, an async generator) keeps it until it ends,
 * fails or is cancelled, and fails with LockLostError if the lease is lost meanwhile. One that nobody
 * ever consumes keeps it until `maxHoldMs`. What hides inside of other objects is not looked for.
 * @throws LockLostError carrying the result if the lease was lost already
 */
export async function coverResult(result: unknown, hold: Hold): Promise<unknown> {
  const cover = coverFor(result, hold);
  if (!cover) {
    await hold.end({ result });
    return result;
  }
  try {
    hold.lease.assertHeld();
    return cover();
  } catch (error) {
    await hold.end();
    throw error;
  }
}

function coverFor(result: unknown, hold: Hold): (() => unknown) | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  if (result instanceof StreamableFile) {
    return () => {
      coverStream(result.getStream(), hold);
      return result;
    };
  }
  if (isStream(result)) {
    return () => {
      coverStream(result, hold);
      return result;
    };
  }
  if (result instanceof ReadableStream) return () => coverWebStream(result, hold);
  if (isObservable(result)) return () => coverObservable(result, hold);
  if (isAsyncGenerator(result)) return () => new CoveredGenerator(result, hold);
  return undefined;
}

/** Streams of node:stream, and those that only behave like them. */
function isStream(value: object): value is Stream {
  const { pipe, on } = value as Partial<Stream>;
  return value instanceof Stream || (typeof pipe === 'function' && typeof on === 'function');
}
