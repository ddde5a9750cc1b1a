import { until } from '../support/until.mjs';
import { TICK_MS } from './scenes/scheduled-ticks.mjs';

const everyMs = 50;

/**
 * Asks `replicas` in turn to have the document processed, until one of them works on it under a fence above
 * `fence`; resolves with that one and with how long it took since `sinceMs` (on performance.now()).
 * @throws when an answer is neither 202 nor 423
 */
export async function takeOver(id, { fence, replicas, sinceMs, timeoutMs }) {
  let turn = 0;
  const winner = await until(
    `document ${id} to be taken over`,
    async () => {
      const replica = replicas[turn++ % replicas.length];
      const { status, body } = await replica.begin(id);
      if (status !== 202 && status !== 423) {
        throw new Error(`${replica.name}: ${status} ${JSON.stringify(body)}`);
      }
      const document = await replica.document(id);
      if (BigInt(document.fence) <= BigInt(fence)) return null;
      return replicas.find(({ name }) => name === document.replica);
    },
    { timeoutMs, everyMs },
  );
  return { winner, tookMs: performance.now() - sinceMs };
}

/**
 * Resolves with the document when it is being processed and nothing is being written, neither to its
 * row nor about a tick of the cron job: stopped inside a write, a process would keep SQLite's file
 * lock, and so keep everybody from working.
 */
export function restsInWork(id, observer) {
  return until(`document ${id} to be processed`, async () => {
    const document = await observer.document(id);
    const sinceWriteMs = Date.now() - Date.parse(document.updatedAt);
    const sinceTick = (Date.now() % TICK_MS) / TICK_MS;
    const isQuiet = sinceWriteMs > 40 && sinceTick > 0.35 && sinceTick < 0.9;
    return document.state === 'processing' && isQuiet && document;
  });
}

/** Resolves with the document once its processing has ended well. */
export function processed(id, replica) {
  return until(`document ${id} to be ready`, async () => {
    const document = await replica.document(id);
    return document.state === 'ready' && document;
  });
}
