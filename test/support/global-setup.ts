import { ensureEtcd } from './etcd-program.ts';
import { ensurePostgres } from './postgres-program.ts';
import { ensureZookeeper } from './zookeeper-program.ts';
import { ensureRedis } from '../../scripts/support/redis-program.mjs';

// Jest resolves the imports of a global set-up by Node's rules: what this file reaches has to be imported as `.ts`.

/** Runs once before all tests: what they need is there afterwards, or the run ends saying what to install. */
export default async function globalSetup(): Promise<void> {
  await ensureRedis();
  await ensurePostgres();
  await ensureEtcd();
  await ensureZookeeper();
}
