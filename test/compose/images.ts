import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { aptInstall, findProgram } from '../../scripts/support/installed.mjs';
import { type Engine } from './engine.js';

const run = promisify(execFile);
const recipes = 'test/compose/images';

/** What a compose file says of its services, as far as images need it. */
interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      { readonly image: string; readonly build?: string; readonly profiles?: readonly string[] }
    >
  >;
}

/** The images that the Dockerfile and the services with these profiles, or none, name; without the one that is built. */
export async function namedImages(profiles: readonly string[]): Promise<string[]> {
  const dockerfile = await readFile('Dockerfile', 'utf8');
  const bases = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, name = '']) => name);
  const text = await readFile('docker-compose.yml', 'utf8');
  const { services }: ComposeFile = parse(text, { merge: true, maxAliasCount: -1 });
  const images = Object.values(services)
    .filter(({ profiles: its = profiles }) => its.some((profile) => profiles.includes(profile)))
    .flatMap(({ image, build }) => (build ? [] : [image]));
  return [...new Set([...bases, ...images])];
}

/**
 * Makes every named image available to the engine: there already, pulled, or, where the registry cannot
 * be reached, made of the packages of this machine under the same name.
 * @returns the images that were made here
 */
export async function ensureImages(engine: Engine, profiles: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const image of await namedImages(profiles)) {
    if (await succeeds(engine.docker('image', 'inspect', image))) continue;
    // One refusal says it for all: the registry is not there.
    if (missing.length > 0 || !(await succeeds(engine.docker('pull', '--quiet', image)))) {
      missing.push(image);
    }
  }
  if (missing.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'images-'));
  try {
    await new StandIns(engine, folder).make(missing);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return missing;
}

class StandIns {
  constructor(
    private readonly engine: Engine,
    private readonly folder: string,
  ) {}

  async make(images: readonly string[]): Promise<void> {
    const postgres = await this.install();
    const slim = await this.base('slim');
    const servers = await this.base(
      'servers',
      'redis-server',
      'redis-tools',
      `postgresql-${postgres}`,
      'haproxy',
      'wget',
      'etcd-server',
      'etcd-client',
    );
    // The image with ChromaDB begins with the one with Node.
    for (const image of images.toSorted((a, b) => Number(isChroma(a)) - Number(isChroma(b)))) {
      const name = image.slice(image.lastIndexOf('/') + 1, image.indexOf(':'));
      if (name === 'node')
        await this.build(image, 'node', await this.nodeContext(), { BASE: slim });
      else if (isChroma(image)) {
        const { name: NODE } = await nodeImage();
        await this.build(image, 'chroma', await this.chromaContext(), { NODE });
      } else if (['redis', 'postgres', 'haproxy', 'etcd'].includes(name)) {
        await this.build(image, name, recipes, { BASE: servers, POSTGRES: postgres });
      } else throw new Error(`Nothing here says how to make a stand-in for ${image}.`);
    }
  }

  /** What the images are made of; resolves with PostgreSQL's version. */
  private async install(): Promise<string> {
    const isThere = await Promise.all(
      ['redis-server', 'redis-cli', 'wget', 'haproxy', 'etcd', 'etcdctl'].map((name) =>
        findProgram(name, ['/usr/sbin']),
      ),
    );
    const versions = () => readdir('/usr/lib/postgresql').catch(() => []);
    if (isThere.includes(null) || (await versions()).length === 0) {
      await aptInstall(
        ...['redis-server', 'redis-tools', 'postgresql', 'haproxy', 'wget'],
        ...['etcd-server', 'etcd-client'],
      );
    }
    const newest = (await versions()).toSorted((a, b) => Number(b) - Number(a))[0];
    if (newest === undefined) throw new Error('PostgreSQL could not be installed.');
    return newest;
  }

  private async base(tag: string, ...packages: string[]): Promise<string> {
    const tar = join(this.folder, `${tag}.tar`);
    await run('bash', [join(recipes, 'rootfs.sh'), tar, ...packages]);
    await this.engine.docker('import', tar, `doclock-check:${tag}`);
    await rm(tar);
    return `doclock-check:${tag}`;
  }

  private async nodeContext(): Promise<string> {
    const context = join(this.folder, 'node');
    await mkdir(context);
    const { version } = await nodeImage();
    const release = `node-linux-${process.arch}@${version}`;
    await run('npm', [
      'install',
      '--no-save',
      '--ignore-scripts',
      '--prefix',
      this.folder,
      release,
    ]);
    const found = join(this.folder, `node_modules/node-linux-${process.arch}/bin/node`);
    await cp(found, join(context, 'node'));
    const npm = await realpath((await findProgram('npm')) ?? 'npm');
    await cp(dirname(dirname(npm)), join(context, 'npm'), { recursive: true });
    return context;
  }

  /** The server is a library inside the packages that the tests use already. */
  private async chromaContext(): Promise<string> {
    const context = join(this.folder, 'chroma');
    for (const name of ['chromadb', `chromadb-js-bindings-linux-${process.arch}-gnu`, 'semver']) {
      const target = join(context, 'node_modules', name);
      await cp(await realpath(join('node_modules', name)), target, { recursive: true });
    }
    return context;
  }

  private async build(
    image: string,
    recipe: string,
    context: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const args = Object.entries(settings).flatMap((pair) => ['--build-arg', pair.join('=')]);
    const file = ['--file', join(recipes, `${recipe}.Dockerfile`)];
    await this.engine.docker('build', '--quiet', '--tag', image, ...file, ...args, context);
  }
}

/** What the Dockerfile builds on. */
async function nodeImage(): Promise<{ name: string; version: string }> {
  const found = /^FROM (node:([\d.]+)\S*)/m.exec(await readFile('Dockerfile', 'utf8'));
  const [, name, version] = found ?? [];
  if (!name || !version) throw new Error('The Dockerfile names no version of Node.js.');
  return { name, version };
}

function isChroma(image: string): boolean {
  return image.startsWith('chromadb/');
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
