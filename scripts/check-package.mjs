/**
 * Checks the packed package as its users' tools will read it: publint, and attw for its types. One finding of attw
 * is by design: the package is ES modules only, which CommonJS requires from Node.js 20.19 on.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const folder = await mkdtemp(join(tmpdir(), 'doclock-package-'));
try {
  run('npm', 'run', '--silent', 'build');
  const tarball = run(process.execPath, 'scripts/pack-lock.mjs', '--out', folder).trim();
  check('publint', '--strict', tarball);
  check('attw', tarball, '--ignore-rules', 'cjs-resolves-to-esm', '--no-color', '--no-emoji');
} finally {
  await rm(folder, { recursive: true, force: true });
}

function check(tool, ...args) {
  try {
    run(join('node_modules', '.bin', tool), ...args);
  } catch (error) {
    process.stdout.write(String(error.stdout));
    process.exitCode = 1;
  }
}
