import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startRedis } from '../../support/redis.js';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const peers = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
const optionalPeers = [
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  '@nestjs/schedule',
  'ioredis',
  'node-zookeeper-client',
  'pg',
];

// The compiler has to share the machine with the other tests.
jest.setTimeout(120_000);

interface Manifest {
  version: string;
  license: string;
  dependencies?: object;
  peerDependencies: Record<string, string>;
}

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as Manifest;

describe('the package doclock', () => {
  let project: string;
  let installed: string;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'doclock-user-'));
    installed = join(project, 'node_modules', 'doclock');
    const pack = [join(root, 'scripts/pack-lock.mjs'), '--out', project];
    const { stdout } = await run(process.execPath, pack, { cwd: project });
    for (const file of await readdir(join(here, 'project'))) {
      await cp(join(here, 'project', file), join(project, file.replace(/\.txt$/, '')));
    }
    await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }\n');
    // Peers come from this repository's own installation, so no registry is asked for anything.
    const flags = [
      '--offline',
      '--legacy-peer-deps',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ];
    await run('npm', ['install', ...flags, stdout.trim()], { cwd: project });
    for (const peer of [...peers, '@types/node']) await link(peer);
  });

  afterAll(() => rm(project, { recursive: true, force: true }));

  async function link(name: string): Promise<void> {
    const target = join(project, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(root, 'node_modules', name), target, 'dir');
  }

  async function compile(config: string): Promise<void> {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', config], { cwd: project }).catch((error: unknown) => {
      throw new Error(String((error as { stdout?: string }).stdout));
    });
  }

  async function start(file: string, env: Record<string, string> = {}): Promise<unknown> {
    const { stdout } = await run(process.execPath, [join(project, 'out', file)], {
      cwd: project,
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    });
    return JSON.parse(stdout);
  }

  it('has no dependencies, and the peers and version of this repository', async () => {
    const [own, top] = await Promise.all(
      [installed, root].map((folder) => readJson(join(folder, 'package.json'))),
    );
    expect(own?.dependencies).toBeUndefined();
    expect(Object.keys(own?.peerDependencies ?? {}).toSorted()).toEqual(
      [...peers, ...optionalPeers].toSorted(),
    );
    expect(own).toMatchObject({
      name: 'doclock',
      version: top?.version,
      license: top?.license,
      type: 'module',
      peerDependenciesMeta: Object.fromEntries(
        [...peers, ...optionalPeers].map((name) => [name, { optional: true }]),
      ),
    });
    for (const [name, range] of Object.entries(own?.peerDependencies ?? {})) {
      const used = await readJson(join(root, 'node_modules', name, 'package.json'));
      const majors = range.split(' || ').map((each) => each.split('.')[0]);
      expect([name, majors]).toEqual([
        name,
        expect.arrayContaining([`^${used.version.split('.')[0]}`]),
      ]);
    }
  });

  it('holds the built lock module and nothing else', async () => {
    const files = await filesOf(installed);
    const others = files.filter((file) => !file.startsWith('dist/'));
    const doors = ['core', 'schedule', 'store-kit', 'testing'];
    expect(others.toSorted()).toEqual(
      [
        'LICENSE',
        'README.md',
        'package.json',
        ...doors.map((door) => `${door}/package.json`),
      ].sort(),
    );
    const built = files.filter((file) => file.startsWith('dist/'));
    expect(built.filter((file) => !/\.(?:js|d\.ts|lua|proto|sql)$/.test(file))).toEqual([]);
    expect(built.filter((file) => file.includes('.spec.'))).toEqual([]);
    const rooms = new Set(built.map((file) => file.split('/').slice(1, -1)[0] ?? file));
    expect([...rooms]).toEqual(
      expect.arrayContaining([
        'core',
        'nest',
        'schedule',
        'stores',
        'testing',
        'ticks',
        'dist/index.js',
        'dist/index.d.ts',
      ]),
    );
    const scripts = (await filesOf(join(root, 'src/lock'))).filter((file) =>
      /\.(?:lua|proto|sql)$/.test(file),
    );
    expect(scripts.length).toBeGreaterThan(0);
    expect(built).toEqual(expect.arrayContaining(scripts.map((file) => `dist/${file}`)));
  });

  it('imports nothing but itself, node and its peers', async () => {
    const allowed = new Set([...peers, ...optionalPeers]);
    const imported = /(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;
    for (const file of (await filesOf(installed)).filter((name) => /\.(?:js|ts)$/.test(name))) {
      const text = await readFile(join(installed, file), 'utf8');
      for (const [, specifier = ''] of text.matchAll(imported)) {
        const inside =
          specifier.startsWith('.') && !join(dirname(file), specifier).startsWith('..');
        expect([
          file,
          specifier,
          inside || specifier.startsWith('node:') || allowed.has(specifier),
        ]).toEqual([file, specifier, true]);
        if (file.endsWith('.js')) expect(specifier).not.toBe('ioredis');
        if (!file.startsWith('dist/schedule/')) expect(specifier).not.toBe('@nestjs/schedule');
      }
      expect(text).not.toContain('sourceMappingURL');
    }
  });

  it('serves an empty Nest project: types, module, service and decorator, without ioredis', async () => {
    await compile('tsconfig.json');
    expect(await start('main.js')).toEqual({
      result: 'doc:1 started',
      busy: 'LOCK_BUSY',
      skipped: null,
      fenceRises: true,
      free: null,
      contract: 'grants a free lock and names its holder',
    });
  });

  it('serves plain Node by doclock/core where Nest is not installed, imported or required', async () => {
    const plain = await mkdtemp(join(tmpdir(), 'doclock-plain-'));
    try {
      await cp(installed, join(plain, 'node_modules', 'doclock'), { recursive: true });
      await cp(join(project, 'plain.mjs'), join(plain, 'plain.mjs'));
      const { stdout } = await run(process.execPath, ['plain.mjs'], { cwd: plain });
      expect(JSON.parse(stdout)).toEqual({
        missing: true,
        work: 'doc:1',
        busy: 'doc:2',
        sameClass: true,
        ticks: ['function', 'function'],
      });
    } finally {
      await rm(plain, { recursive: true, force: true });
    }
  });

  it('serves a project with ioredis, all declarations checked, over a real Redis', async () => {
    await link('ioredis');
    await compile('tsconfig.redis.json');
    await using server = await startRedis();
    expect(await start('redis.js', { REDIS_PORT: String(server.port) })).toEqual({
      second: 'LOCK_BUSY',
      left: 0,
    });
  });

  it('serves cron jobs where @nestjs/schedule is there', async () => {
    await link('@nestjs/schedule');
    await compile('tsconfig.schedule.json');
    expect(await start('schedule.js')).toEqual({ outcomes: ['ran'], byHand: 'by hand' });
  });
});

/** The files below a folder, as paths relative to it. */
async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}
