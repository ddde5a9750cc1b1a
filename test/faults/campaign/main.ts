import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ensureRedis } from '../../../scripts/support/redis-program.mjs';
import { ensurePostgres } from '../../support/postgres-program.js';
import { runCampaign } from './campaign.js';
import { runLoad } from './load.js';
import { runPoolCampaign } from './pool/pool-campaign.js';
import { print } from './report.js';
import { type StoreName, stores } from './stores/index.js';

const usage = `npm run faults -- [--store ${Object.keys(stores).join('|')}]
                  [--minutes 3] [--seed N] [--database postgres|sqlite] [--replicas 3] [--clients 8]
                  [--json FILE]
npm run faults -- --pool [--minutes 3] [--seed N] [--replicas 3] [--clients 8] [--json FILE]
npm run faults -- --load [--minutes 2] [--concurrency 1000] [--documents 200] ...`;

/** Breaks things (or, with --load, asks for much) for that long. Ends with 1 if anything went wrong. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'redis' },
      load: { type: 'boolean', default: false },
      pool: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 100_000) },
      database: { type: 'string', default: 'postgres' },
      replicas: { type: 'string', default: '3' },
      clients: { type: 'string', default: '8' },
      concurrency: { type: 'string', default: '1000' },
      documents: { type: 'string', default: '200' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(usage);
  await Promise.all([ensureRedis(), ensurePostgres()]);
  const common = {
    database: databaseOf(values.database),
    seed: whole('seed', values.seed),
    replicas: whole('replicas', values.replicas),
    durationMs: positive('minutes', values.minutes ?? (values.load ? '2' : '3')) * 60_000,
    say: (line: string) => say(`${new Date().toISOString()} ${line}`),
  };
  const clients = whole('clients', values.clients);
  const run = () => {
    if (values.pool) return runPoolCampaign({ ...common, clients });
    if (!values.load) return runCampaign({ ...common, store: storeOf(values.store), clients });
    return runLoad({
      ...common,
      concurrency: whole('concurrency', values.concurrency),
      documents: whole('documents', values.documents),
    });
  };
  const report = await run();
  if ('faults' in report) print(report, say);
  else say(JSON.stringify(report, null, 2));
  if (values.json !== undefined) await writeFile(values.json, JSON.stringify(report, null, 2));
  process.exitCode = report.violations.length === 0 ? 0 : 1;
}

function storeOf(text: string): StoreName {
  if (Object.hasOwn(stores, text)) return text as StoreName;
  throw new Error(`--store must be one of ${Object.keys(stores).join(', ')}.\n${usage}`);
}

function databaseOf(text: string): 'postgres' | 'sqlite' {
  if (text === 'postgres' || text === 'sqlite') return text;
  throw new Error(`--database must be postgres or sqlite.\n${usage}`);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0.\n${usage}`);
  return value;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new Error(`--${name} must be a whole number.\n${usage}`);
  }
  return value;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
process.exit(); // whatever a broken connection may have left open
