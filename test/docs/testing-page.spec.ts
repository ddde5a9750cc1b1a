import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const page = readFileSync('docs/testing.md', 'utf8');
const cells = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

/** Rows of the tables whose second column is a file: behaviour, file, name of the test. */
const rows = cells.flatMap(([, behaviour = '', file = '', test = '']) => {
  const path = /^`((?:src|test)\/\S+\.ts)`$/.exec(file)?.[1];
  return path !== undefined && !test.startsWith('`') ? [{ behaviour, path, test }] : [];
});

describe('the page about testing', () => {
  it('has a test for each behaviour', () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter(({ behaviour, test }) => behaviour === '' || test === '')).toEqual([]);
  });

  it.each(rows)('names one that exists: $behaviour', ({ path, test }) => {
    expect(existsSync(path)).toBe(true);
    // As the title of a test, or as a promise of a contract suite.
    const title = escape(test);
    expect(readFileSync(path, 'utf8')).toMatch(
      new RegExp(`(?:\\(|promise: )\\s*['"\`]${title}['"\`]`),
    );
  });

  it('gives commands that can be run', () => {
    const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object })
      .scripts;
    const named = [...page.matchAll(/npm run (\w[\w:]*)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}
