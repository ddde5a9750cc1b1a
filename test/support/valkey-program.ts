import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../scripts/support/installed.mjs';

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

/** A Valkey server, and what removes it again. */
export interface ValkeyProgram {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * A valkey-server: on PATH, or unpacked from the backports of the Debian that this is, without installing
 * anything. Where neither is to be had, why not: no other program stands in for it.
 */
export async function findValkey(): Promise<ValkeyProgram | string> {
  const installed = await findProgram('valkey-server');
  if (installed !== null) return { path: installed, remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'valkey-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    return { path: await unpack(folder), remove };
  } catch (error) {
    await remove();
    return `no valkey-server on PATH, and none from backports: ${(error as Error).message}`;
  }
}

async function unpack(folder: string): Promise<string> {
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(RELEASE) $(SITE)']);
  const site = stdout.split('\n').find((line) => line.startsWith(`${release} `));
  if (site === undefined) throw new Error('this is no Debian with sources of packages');
  const [, address = ''] = site.split(' ');
  await writeFile(join(folder, 'sources'), `deb ${address} ${release}-backports main\n`);
  await mkdir(join(folder, 'lists', 'partial'), { recursive: true });
  const own = {
    'Dir::Etc::sourcelist': join(folder, 'sources'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': join(folder, 'lists'),
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(own).map(([name, value]) => `-o${name}=${value}`);
  const bounds = { cwd: folder, timeout: TIMEOUT_MS };
  await run('apt-get', [...options, 'update'], bounds);
  // The program is in the second package; what the first one has of it is a link.
  await run('apt-get', [...options, 'download', 'valkey-server', 'valkey-tools'], bounds);
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb'))) {
    await run('dpkg-deb', ['-x', file, 'root'], bounds);
  }
  const path = join(folder, 'root', 'usr', 'bin', 'valkey-server');
  await access(path);
  return path;
}
