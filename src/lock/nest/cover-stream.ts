import { finished, type Readable, type Stream } from 'node:stream';
import type { Hold } from '../core/hold.js';
import { whenLost, whenUnconsumed } from './when-lost.js';

/**
 * Holds the lock until the stream has ended, failed or been destroyed (of one that is readable and
 * writable, its readable side counts). A lost lease destroys it with LockLostError, and so does nobody
 * who reads from it for 10 s.
 */
export function coverStream(stream: Stream, hold: Hold): void {
  const stopListening = whenLost(hold.lease, (lost) => destroy(stream, lost));
  const stopWaiting = whenUnconsumed(
    hold.lease,
    () => hasReader(stream),
    (lost) => destroy(stream, lost),
  );
  const { readable } = stream as Partial<Readable>;
  // Its error belongs to the stream's consumer; here only the end counts.
  finished(stream as Readable, readable === undefined ? {} : { writable: false }, () => {
    stopListening();
    stopWaiting();
    void hold.end();
  });
}

/** Whether somebody reads, or has begun to; also said of streams that do not tell. */
function hasReader(stream: Stream): boolean {
  const { readableFlowing, readableDidRead } = stream as Partial<Readable>;
  return readableFlowing !== null || readableDidRead !== false;
}

/** Destroys a stream that nobody consumes, so nobody else hears of its error. */
export function destroyStream(stream: Stream, error: Error): void {
  stream.on('error', () => undefined);
  destroy(stream, error);
}

/** Streams of the oldest kind have nothing to destroy. */
function destroy(stream: Stream, error: Error): void {
  (stream as Partial<Readable>).destroy?.call(stream, error);
}
