// Preloaded into a replica (NODE_OPTIONS=--import): writes down which leases its engine believes in, from
// the grant to the release or the loss, in the file TESTIMONY. So two holders of one lock are seen whatever
// they do with it. A line goes to the system at once: kill -9 loses none. Times are of the machine's
// monotonic clock, which all processes share and nobody steps.
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.TESTIMONY;
if (isMainThread && file) await witness(openSync(file, 'a'));

async function witness(testimony) {
  const { HeldLease } = await import('../../../dist/lock/core/lease.js');
  const { LeaseDesk } = await import('../../../dist/lock/core/lease-desk.js');
  const say = (kind, lease) => {
    const at = Number(process.hrtime.bigint()) / 1e6;
    const { name, permit, fence, remainingMs } = lease;
    const until = at + remainingMs;
    const line = { kind, at, until, name, permit, fence: fence.toString(), pid: process.pid };
    writeSync(testimony, `${JSON.stringify(line)}\n`);
  };
  after(LeaseDesk, 'admit', (_desk, { lease }) => lease && say('held', lease));
  after(HeldLease, 'renewed', (lease) => lease.isHeld && say('held', lease));
  // Both come before anything is sent that frees the lock.
  after(HeldLease, 'lose', (lease) => say('left', lease));
  after(HeldLease, 'close', (lease) => say('left', lease));
}

function after({ name, prototype }, method, tell) {
  const original = prototype[method];
  if (typeof original !== 'function') throw new Error(`${name} has no ${method} to be seen.`);
  prototype[method] = function (...args) {
    const result = original.apply(this, args);
    tell(this, result);
    return result;
  };
}
