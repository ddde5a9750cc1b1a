// Preloaded into a replica (NODE_OPTIONS=--import), so that a campaign can break it from outside without
// a hook in the service itself. SIGUSR2: the event loop is blocked for SABOTAGE_BLOCK_MS. SIGHUP: its
// worker threads crash. What its event loop and memory are like goes to the file OBSERVATIONS, once a second.
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const channel = 'sabotage';

if (isMainThread) {
  process.on('SIGUSR2', () => {
    const until = performance.now() + Number(process.env.SABOTAGE_BLOCK_MS ?? 3_000);
    while (performance.now() < until); // on purpose
  });
  process.on('SIGHUP', () => {
    const crash = new BroadcastChannel(channel);
    crash.postMessage('crash');
    crash.close();
  });
  const file = process.env.OBSERVATIONS;
  if (file) observe(file);
} else {
  const orders = new BroadcastChannel(channel);
  orders.unref();
  orders.onmessage = () => {
    if (threadId % 2 === 0) process.exit(1); // ends this thread only
    throw new Error('sabotage');
  };
}

function observe(file) {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let maxRss = 0;
  setInterval(() => {
    const { rss, heapUsed } = process.memoryUsage();
    maxRss = Math.max(maxRss, rss);
    const [p50, p99, max] = [delay.percentile(50), delay.percentile(99), delay.max].map(
      (nanos) => nanos / 1e6,
    );
    writeFileSync(
      `${file}.new`,
      JSON.stringify({ rss, maxRss, heapUsed, loop: { p50, p99, max } }),
    );
    renameSync(`${file}.new`, file); // nobody reads half of it
  }, 1_000).unref();
}
