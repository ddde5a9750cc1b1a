import { ReadableStream } from 'node:stream/web';
import type { Hold } from '../core/hold.js';
import { reportCleanUp, whenLost } from './when-lost.js';

/**
 * A stream of the same chunks (read on demand, so without a buffer of its own) that holds the lock
 * until it is closed, fails or is cancelled. A lost lease fails it with LockLostError and cancels the
 * source. Reading into the consumer's own buffer (BYOB) is not offered.
 * @throws TypeError where the source has a reader already
 */
export function coverWebStream<T>(source: ReadableStream<T>, hold: Hold): ReadableStream<T> {
  const reader = source.getReader();
  let stopListening = () => {};
  const end = async (outcome?: { readonly result: unknown }) => {
    stopListening();
    await hold.end(outcome);
  };
  return new ReadableStream<T>(
    {
      start(controller) {
        stopListening = whenLost(hold.lease, (lost) => {
          controller.error(lost);
          void reader
            .cancel(lost)
            .catch(reportCleanUp)
            .then(() => end());
        });
      },
      async pull(controller) {
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
