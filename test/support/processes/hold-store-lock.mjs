// Holds one lock of a store of its own until it is told to end: {"store": CLASS, "options": {…}, "name", "ttlMs"}.
// Says "held FENCE", and "lost REASON" if it comes to that.
const doclock = await import('../../../dist/lock/index.js');
const { store, options, name, ttlMs } = JSON.parse(process.argv[2]);
const locks = new doclock.LockManager({ store: new doclock[store](options), defaults: { ttlMs } });
await locks.start();
const lease = await locks.acquire(name, { ttlMs, waitMs: 20_000 });
lease.signal.addEventListener('abort', () =>
  process.stdout.write(`lost ${lease.signal.reason.reason}\n`),
);
process.stdout.write(`held ${lease.fence}\n`);
process.stdin.once('data', () => process.exit(0));
