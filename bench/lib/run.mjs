import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { writeDocs } from './docs.mjs';
import { describeMachine, loadNow } from './machine.mjs';
import { cases } from './measure.mjs';
import { PeerPair } from './peer-pair.mjs';
import { loadPeers } from './peers.mjs';
import { RedisProbe } from './redis-probe.mjs';
import { startRedis } from './redis-server.mjs';
import { reportMarkdown } from './report.mjs';
import { countSent } from './sent-commands.mjs';
import { judgeTargets } from './targets.mjs';

/**
 * Runs all cases, prints the report, writes the documents and the JSON that are asked for.
 * @param {import('./settings.mjs').Settings} settings
 */
export async function runBenchmark(settings) {
  const started = performance.now();
  const peers = await loadPeers(settings.peers);
  const redis = await startRedis();
  const machine = describeMachine(redis.version);
  let results;
  try {
    results = await measureAll(settings, peers, redis.port);
  } finally {
    await redis.stop();
  }
  const report = {
    quick: settings.quick,
    machine: { ...machine, loadAfter: loadNow() },
    seconds: Math.round((performance.now() - started) / 1e3),
    pollMs: settings.pollMs,
    sizes: settings.sizes,
    peers,
    targets: judgeTargets(results, peers),
    results,
  };
  console.log(`\n${reportMarkdown(report)}`);
  if (settings.docs) await writeDocs(report);
  if (settings.json !== undefined) {
    const file = resolve(settings.json);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    console.log(`All figures: ${file}`);
  }
}

async function measureAll({ cases: wanted, pollMs, sizes }, peers, port) {
  for (const name of wanted ?? []) {
    if (!(name in cases))
      throw new Error(`There is no case ${name}; there are ${Object.keys(cases).join(', ')}.`);
  }
  const probe = new RedisProbe(port);
  const pairs = peers.map(({ id }) => new PeerPair(id, { port, pollMs }));
  try {
    await Promise.all(pairs.map((pair) => pair.ready()));
    const counters = new Map();
    for (const pair of pairs) counters.set(pair.id, await countSent(probe, pair));
    const tools = { probe, sentOf: (id) => counters.get(id) };
    const results = {};
    for (const [name, measure] of Object.entries(cases)) {
      if (wanted && !wanted.includes(name)) continue;
      const began = performance.now();
      const context = { tools, pairs, peers, sizes, port };
      results[name] = await measure(context).catch((error) => {
        // Servers that a busy machine puts off for long lose connections; the other cases are not to be lost by that.
        console.error(`${name} failed and is measured again: ${error.stack}`);
        return measure(context);
      });
      const seconds = ((performance.now() - began) / 1e3).toFixed(1);
      console.log(`${name}: ${seconds} s (load ${loadNow()})`);
      await probe.flush();
    }
    return results;
  } finally {
    await Promise.all(pairs.map((pair) => pair.stop()));
    probe.close();
  }
}
