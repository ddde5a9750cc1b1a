import { ReadableStream } from 'node:stream/web';
import type { Hold } from '../core/hold.js';
import type { LockLostError } from '../core/lock.errors.js';
import { reportCleanUp, whenLost, whenUnconsumed } from './when-lost.js';

/**
 * A stream of the same chunks (read on demand, so without a buffer of its own) that holds the lock
 * until it is closed, fails or is cancelled. A lost lease fails it with LockLostError and cancels the
 * source, and so does nobody who reads from it for 10 s. Reading into the consumer's own buffer (BYOB) is not offered.
 * @throws TypeError where the source has a reader already
 */
export function coverWebStream<T>(source: ReadableStream<T>, hold: Hold): ReadableStream<T> {
  const reader = source.getReader();
  let isConsumed = false;
  let stopListening = () => {};
  let stopWaiting = () => {};
  const end = async (outcome?: { readonly result: unknown }) => {
    stopListening();
    stopWaiting();
    await hold.end(outcome);
  };
  return new ReadableStream<T>(
    {
      start(controller) {
        const fail = (lost: LockLostError) => {
          controller.error(lost);
          void reader
            .cancel(lost)
            .catch(reportCleanUp)
            .then(() => end());
        };
        stopListening = whenLost(hold.lease, fail);
        stopWaiting = whenUnconsumed(hold.lease, () => isConsumed, fail);
      },
      async pull(controller) {
        isConsumed = true;
        try {
          const chunk = await hold.enter(() => reader.read());
          if (!chunk.done) return controller.enqueue(chunk.value);
        } catch (error) {
          await end();
          throw error;
        }
        await end({ result: undefined });
        controller.close();
      },
      async cancel(reason) {
        try {
          await hold.enter(() => reader.cancel(reason));
        } finally {
          await end();
        }
      },
    },
    { highWaterMark: 0 },
  );
}
