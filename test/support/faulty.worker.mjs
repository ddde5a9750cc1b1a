/** A worker for the tests of the thread pool: does what the task says. */
import { threadId } from 'node:worker_threads';

export default async function work(task) {
  if (task === 'exit') process.exit(7);
  if (task === 'throw') throw new Error('thrown by the worker');
  if (task === 'hang') for (;;) if (globalThis.neverSet) break;
  if (task === 'heap') for (const held = []; ;) held.push(Array.from({ length: 1e5 }, Math.random));
  return threadId;
}
