import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

/**
 * What the figures were measured on.
 * @param {string} redisVersion
 */
export function describeMachine(redisVersion) {
  const all = cpus();
  return {
    date: new Date().toISOString(),
    commit: commit(),
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    redis: redisVersion,
    loadBefore: loadNow(),
  };
}

/** The one-minute load average. */
export const loadNow = () => Number((loadavg()[0] ?? NaN).toFixed(2));

function commit() {
  try {
    const options = { cwd: new URL('.', import.meta.url), encoding: 'utf8', stdio: 'pipe' };
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], options).trim();
  } catch {
    return undefined; // not a checkout
  }
}
