import { finished, type Readable, type Stream } from 'node:stream';
import type { Hold } from '../core/hold.js';
import { whenLost } from './when-lost.js';

/**
 * Holds the lock until the stream has ended, failed or been destroyed (of one that is readable and
 * writable, its readable side counts). A lost lease destroys it with LockLostError.
 */
export function coverStream(stream: Stream, hold: Hold): void {
  const { readable, destroy } = stream as Partial<Readable>;
  const stopListening = whenLost(hold.lease, (lost) => destroy?.call(stream, lost));
  // Its error belongs to the stream's consumer; here only the end counts.
  finished(stream as Readable, readable === undefined ? {} : { writable: false }, () => {
    stopListening();
    void hold.end();
  });
}
