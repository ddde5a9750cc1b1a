import { Stream } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { StreamableFile } from '@nestjs/common';
import { isObservable } from 'rxjs';
import type { Hold } from '../core/hold.js';
import type { LockLostError } from '../core/lock.errors.js';
import { CoveredGenerator, isAsyncGenerator } from './cover-generator.js';
import { coverObservable } from './cover-observable.js';
import { coverStream, destroyStream } from './cover-stream.js';
import { coverWebStream } from './cover-web-stream.js';
import { reportCleanUp } from './when-lost.js';

/**
 * What the caller of a locked method gets for its result. A value ends the hold; whatever goes on
 * producing (a stream, a StreamableFile, a Response, an Observable, an async generator) keeps it until
 * it ends, fails or is cancelled, and fails with LockLostError if the lease is lost meanwhile. One that
 * nobody begins to consume within 10 s is given up. Other objects are values, also those that hold a
 * stream or can be iterated: give them as an async generator.
 * @throws LockLostError carrying the result if the lease was lost already
 */
export async function coverResult(result: unknown, hold: Hold): Promise<unknown> {
  const production = productionOf(result);
  if (!production) {
    await hold.end({ result });
    return result;
  }
  try {
    hold.lease.assertHeld();
  } catch (lost) {
    await Promise.resolve(production.discard(lost as LockLostError)).catch(reportCleanUp);
    await hold.end();
    throw lost;
  }
  try {
    return production.cover(hold);
  } catch (error) {
    await hold.end();
    throw error;
  }
}

/** A result that goes on after the method. */
interface Production {
  cover(hold: Hold): unknown;
  /** Ends it before anybody has consumed it. */
  discard(lost: LockLostError): unknown;
}

function productionOf(result: unknown): Production | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  if (result instanceof StreamableFile) return ofStream(result.getStream(), result);
  if (isStream(result)) return ofStream(result, result);
  if (result instanceof ReadableStream) {
    return {
      cover: (hold) => coverWebStream(result, hold),
      discard: (lost) => result.cancel(lost),
    };
  }
  if (result instanceof Response && result.body !== null) return ofResponse(result, result.body);
  if (isObservable(result)) {
    return { cover: (hold) => coverObservable(result, hold), discard: () => undefined };
  }
  if (isAsyncGenerator(result)) {
    return {
      cover: (hold) => new CoveredGenerator(result, hold),
      discard: () => result.return(undefined),
    };
  }
  return undefined;
}

function ofStream(stream: Stream, result: unknown): Production {
  return {
    cover(hold) {
      coverStream(stream, hold);
      return result;
    },
    discard: (lost) => destroyStream(stream, lost),
  };
}

/** A `Response`, as fetch gives it and Nest sends it: its body is what goes on. */
function ofResponse(response: Response, body: ReadableStream): Production {
  return {
    cover(hold) {
      const { status, statusText, headers } = response;
      return new Response(coverWebStream(body, hold), { status, statusText, headers });
    },
    discard: (lost) => body.cancel(lost),
  };
}

/** Streams of node:stream, and those that only behave like them. */
function isStream(value: object): value is Stream {
  const { pipe, on } = value as Partial<Stream>;
  return value instanceof Stream || (typeof pipe === 'function' && typeof on === 'function');
}
