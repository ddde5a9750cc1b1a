import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));

/**
 * Installs the benchmark's own packages (the peers) where that has not been done, and checks that
 * there is a built lock module. @throws saying what to run
 */
export function ensurePackages() {
  if (!existsSync(new URL('../../dist/lock/index.js', import.meta.url))) {
    throw new Error('There is no built lock module in dist/; run "npm run build" first.');
  }
  if (existsSync(new URL('../node_modules', import.meta.url))) return;
  console.log('The peers are not installed yet; installing them into bench/node_modules …');
  const args = ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', args, { stdio: 'inherit' });
  if (status !== 0) {
    throw new Error('The peers could not be installed; run "npm install --prefix bench" by hand.');
  }
}
