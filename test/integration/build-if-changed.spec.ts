import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doclock-build-'));
  await mkdir(join(folder, 'src/deep'), { recursive: true });
  await mkdir(join(folder, 'dist'));
  await writeFile(join(folder, 'src/deep/a.ts'), '');
  await writeFile(join(folder, 'src/deep/b.ts'), '');
  // Counts itself instead of compiling.
  const build = `require('fs').appendFileSync('dist/main.js', 'x')`;
  await writeFile(join(folder, 'build.cjs'), build);
  const scripts = { build: 'node build.cjs' };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts }));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it('a start builds what has changed since the last one, and nothing where nothing has', async () => {
  const builds = async () => {
    await run(process.execPath, [resolve('scripts/build-if-changed.mjs')], { cwd: folder });
    return (await readFile(join(folder, 'dist/main.js'), 'utf8')).length;
  };
  const change = (path: string) => {
    const later = new Date(Date.now() + 1_000);
    return utimes(join(folder, path), later, later);
  };
  const forget = async () => {
    const built = new Date(Date.now() + 2_000);
    await utimes(join(folder, 'dist/.built'), built, built);
  };
  expect(await builds()).toBe(1);
  await forget();
  expect(await builds()).toBe(1);

  const past = new Date(Date.now() - 60_000);
  await utimes(join(folder, 'dist/.built'), past, past);
  await change('src/deep/a.ts');
  expect(await builds()).toBe(2);

  await forget();
  expect(await builds()).toBe(2);
  await rm(join(folder, 'dist'), { recursive: true });
  await mkdir(join(folder, 'dist'));
  expect(await builds()).toBe(1);
}, 60_000);
