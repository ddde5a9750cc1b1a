/** `npm start` builds only where something has changed since this script built the last time. */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const built = join('dist', '.built');
const sources = ['nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

const builtAt = modifiedAt(built);
if (modifiedAt(join('dist', 'main.js')) === 0 || newest() > builtAt) {
  const startedAt = new Date();
  const { status } = spawnSync('npm', ['run', 'build'], { stdio: 'inherit', shell: true });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(built, `${startedAt.toISOString()}\n`);
}

/** Of all that is built from; folders count too, since they change when a file goes. */
function newest() {
  const below = readdirSync('src', { recursive: true }).map((path) => join('src', path));
  return Math.max(...[...sources, 'src', ...below].map(modifiedAt));
}

/** 0 for what is not there. */
function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
