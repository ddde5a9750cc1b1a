/**
 * Makes the npm package `doclock` from the built lock module: `node scripts/pack-lock.mjs [--out DIR]`,
 * after `npm run build`. Prints the path of the tarball, which lies in DIR (by default the working
 * directory).
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const built = join(root, 'dist', 'lock');

/** What an application brings along itself, all of it optional: two copies of any of these would not know each other. */
const peers = {
  '@grpc/grpc-js': '^1.14.0',
  '@grpc/proto-loader': '^0.8.0',
  '@nestjs/common': '^11.0.0 || ^12.0.0',
  '@nestjs/core': '^11.0.0 || ^12.0.0',
  '@nestjs/schedule': '^6.0.0 || ^12.0.0',
  ioredis: '^5.0.0 || ^6.0.0',
  'node-zookeeper-client': '^1.1.3',
  pg: '^8.11.0',
  'reflect-metadata': '^0.2.0',
  rxjs: '^7.8.0',
};

/** The doors of the package, and the module behind each. */
const doors = {
  '.': 'index',
  './core': 'core-entry',
  './schedule': 'schedule/index',
  './store-kit': 'store-kit',
  './testing': 'testing/index',
};

const { values } = parseArgs({ options: { out: { type: 'string', default: '.' } } });
const out = resolve(values.out);
const staging = await mkdtemp(join(tmpdir(), 'doclock-'));
try {
  await stage(staging);
  await mkdir(out, { recursive: true });
  const args = ['pack', staging, '--pack-destination', out, '--ignore-scripts', '--json'];
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }));
  process.stdout.write(`${join(out, packed.filename)}\n`);
} finally {
  await rm(staging, { recursive: true, force: true });
}

/** Lays out the package's folder. */
async function stage(directory) {
  const wanted = /(?:\.js|\.d\.ts|\.lua|\.proto|\.sql)$/;
  const files = (await listFiles(built)).filter((file) => wanted.test(file));
  if (!files.includes('index.js')) {
    throw new Error(`There is no built lock module in ${built}; run "npm run build" first.`);
  }
  for (const file of files) await copyFile(file, join(directory, 'dist', file));
  await writeStubs(directory);
  await cp(join(root, 'LICENSE'), join(directory, 'LICENSE'));
  await cp(join(root, 'src', 'lock', 'README.md'), join(directory, 'README.md'));
  await writeFile(
    join(directory, 'package.json'),
    `${JSON.stringify(await manifest(), null, 2)}\n`,
  );
}

async function copyFile(file, target) {
  const text = await readFile(join(built, file), 'utf8');
  await mkdir(join(target, '..'), { recursive: true });
  await writeFile(target, text.replace(/^\/\/# sourceMappingURL=.*\n?/m, '')); // sources stay here
}

async function listFiles(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(directory.length + 1));
}

/** For resolvers that do not know `exports`: a folder per door that points at its module. */
async function writeStubs(directory) {
  for (const [door, file] of Object.entries(doors)) {
    if (door === '.') continue;
    const folder = join(directory, door);
    await mkdir(folder, { recursive: true });
    const stub = { main: `../dist/${file}.js`, types: `../dist/${file}.d.ts`, type: 'module' };
    await writeFile(join(folder, 'package.json'), `${JSON.stringify(stub, null, 2)}\n`);
  }
}

async function manifest() {
  const { version, license, engines, repository, homepage, bugs } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  );
  return {
    name: 'doclock',
    version,
    description:
      'Distributed locks for Node.js and NestJS: leases, fencing tokens, a @WithLock decorator',
    keywords: [
      'nestjs',
      'lock',
      'mutex',
      'semaphore',
      'redlock',
      'cron',
      'distributed-lock',
      'fencing-token',
      'redis',
      'postgres',
    ],
    license,
    repository,
    homepage,
    bugs,
    type: 'module',
    sideEffects: false,
    engines,
    files: ['dist', ...Object.keys(doors).filter((door) => door !== '.')],
    main: './dist/index.js',
    types: './dist/index.d.ts',
    exports: {
      ...Object.fromEntries(
        Object.entries(doors).map(([door, file]) => [
          door,
          { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
        ]),
      ),
      './package.json': './package.json',
    },
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(peers).map((name) => [name, { optional: true }]),
    ),
  };
}
