import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const run = promisify(execFile);

it('the demo ends by itself after the two minutes that README.md names, at the latest', () => {
  expect(readFileSync('README.md', 'utf8')).toMatch(/two minutes at most/);
  expect(readFileSync('scripts/demo/main.mjs', 'utf8')).toContain('longestMs = 120_000;');
});

it('the demo shows what it claims, in plain text where there is no terminal, and ends with 0', async () => {
  const { stdout } = await run(process.execPath, ['scripts/demo/main.mjs'], { timeout: 170_000 });
  const table = stdout
    .slice(stdout.search(/^what +claimed +seen/m))
    .trimEnd()
    .split('\n');
  expect(table[0]).toMatch(/^what +claimed +seen$/);
  const rows = table.slice(2, -2).map((row) => row.split(/ {2,}/));
  expect(rows.map(([what]) => what)).toEqual([
    'ten requests for one document',
    'holder killed: taken over',
    'holder paused beyond its TTL',
    'late write of a careless worker',
    'cron every 2 s',
    'clean shutdown',
  ]);
  for (const row of rows) expect(row.at(-1)).toBe('ok');
  expect(stdout).toMatch(/^ +\d+\.\d\d s {2}replica-\d +200 {2}processed it under fence \d+$/m);
  expect(stdout).toMatch(/\nAll as claimed, in \d+\.\d s\.\n$/);
  expect(stdout).not.toContain('\u001b');
}, 180_000);
