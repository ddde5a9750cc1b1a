// The built service, `{ env }`: it says `listens <url>`, and on stdin takes the name of a step at which to
// stay for ever: `record in transaction`, `work committed`, `record after work`. There it says `at <step>`.
import { createInterface } from 'node:readline';
import { createApp } from '../../../dist/create-app.js';
import { resolveConfig } from '../../../dist/config/index.js';
import { ConversationsRepository } from '../../../dist/conversations/index.js';
import { SqlIdempotencyStore } from '../../../dist/idempotency/index.js';

const { env } = JSON.parse(process.argv[2]);
const app = await createApp(resolveConfig(env), false);
let stopAt = '';
createInterface({ input: process.stdin }).on('line', (line) => {
  stopAt = line;
  process.stdout.write(`will stop at ${line}\n`);
});

async function reach(step) {
  if (step !== stopAt) return;
  process.stdout.write(`at ${step}\n`);
  await new Promise(() => setInterval(() => undefined, 1_000));
}

function wrap(target, method, around) {
  const original = target[method];
  target[method] = function wrapped(...args) {
    return around(() => original.apply(this, args));
  };
}

wrap(SqlIdempotencyStore.prototype, 'finishIn', async (write) => {
  const result = await write();
  await reach('record in transaction');
  return result;
});
wrap(ConversationsRepository.prototype, 'add', async (add) => {
  const result = await add();
  await reach('work committed');
  return result;
});
wrap(SqlIdempotencyStore.prototype, 'finish', async (write) => {
  await reach('record after work');
  return write();
});

await app.listen(0, '127.0.0.1');
process.stdout.write(`listens ${await app.getUrl()}\n`);
