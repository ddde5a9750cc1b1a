import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const page = readFileSync('docs/testing.md', 'utf8');
const files = ['src', 'test', 'scripts', 'bench'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.includes('node_modules'))
    .map((path) => `${folder}/${path}`),
);

/** Files, folders and patterns that the page names, but for lines of code. */
const named = [...page.matchAll(/`((?:src|test|scripts|bench)\/[\w./*{},-]+)`/g)].map(
  ([, path = '']) => path,
);

describe('the page about testing', () => {
  it('names files and folders that exist', () => {
    expect(named.length).toBeGreaterThan(30);
    expect(named.flatMap(alternatives).filter((path) => !files.some(like(path)))).toEqual([]);
  });

  it('gives commands that can be run', () => {
    const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object })
      .scripts;
    const commands = [...page.matchAll(/npm run (\w[\w:]*)/g)].map(([, name = '']) => name);
    expect(commands.length).toBeGreaterThan(3);
    expect(commands.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

/** The paths that a pattern with braces stands for. */
function alternatives(pattern: string): string[] {
  const braces = /^(.*)\{([^}]+)\}(.*)$/.exec(pattern);
  if (!braces) return [pattern];
  const [, before = '', choices = '', after = ''] = braces;
  return choices.split(',').flatMap((choice) => alternatives(before + choice + after));
}

/** Matches a path with `*` for any part of a name, and `**` for any folders. */
function like(pattern: string): (file: string) => boolean {
  const source = pattern
    .split(/(\*+)/)
    .map((part) => {
      if (part === '**') return '.*';
      return part === '*' ? '[^/]*' : part.replaceAll('.', String.raw`\.`);
    })
    .join('');
  const expression = new RegExp(`^${source}$`);
  return (file) => expression.test(file);
}
