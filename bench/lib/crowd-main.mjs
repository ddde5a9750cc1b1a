/**
 * A Node process that stands for many: `crowd-main.mjs PORT_OF_REDIS ENGINES` makes so many lock engines, each of
 * which waits for one lock as a process of its own would, holds it for no time and lets go. Tells over IPC how many
 * have been granted it, then, when asked, when each grant and release was; ends when that closes.
 */
import { Redis } from 'ioredis';
import { LockManager, redisLockClientOptions, RedisLockStore } from '../../dist/lock/index.js';
import { nowUs, pause } from './clock.mjs';

const [, , port, engines] = process.argv;
const TOLD_EVERY_MS = 100;
const WAIT_MS = 600_000;
/** So that thousands of processes do not start in the same millisecond, as thousands never do. */
const PER_STEP = 20;
const STEP_MS = 10;

process.once('disconnect', () => process.exit());
const client = new Redis({ ...redisLockClientOptions, host: '127.0.0.1', port: Number(port) });
client.setMaxListeners(0); // one process would have one engine
await new Promise((resolve) => client.once('ready', resolve));
const store = new RedisLockStore({ client });
const turns = [];
let failed = 0;

async function waitOnce() {
  try {
    const lease = await new LockManager({ store }).acquire('hot', { waitMs: WAIT_MS });
    const grantedUs = nowUs();
    turns.push([grantedUs, nowUs()]);
    await lease.release();
  } catch {
    failed += 1;
  }
}

setInterval(() => process.send({ granted: turns.length, failed }), TOLD_EVERY_MS);
process.on('message', () => process.send({ turns }));
for (let n = 0; n < Number(engines); n += 1) {
  void waitOnce();
  if (n % PER_STEP === PER_STEP - 1) await pause(STEP_MS);
}
