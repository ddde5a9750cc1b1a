import { readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  aptInstall,
  docker,
  dockerAnswers,
  findProgram,
} from '../../scripts/support/installed.mjs';

// Stands in where no PostgreSQL can be had.
const POSTGRES_IMAGE = 'postgres:16.11-alpine';

/** What runs a PostgreSQL server here: the folder of its programs, or a Docker image. */
export type PostgresProgram =
  | { readonly kind: 'program'; readonly folder: string }
  | { readonly kind: 'docker'; readonly image: string };

const DEBIAN_FOLDER = '/usr/lib/postgresql';

// Debian keeps every version's programs in a folder of its own, outside PATH; the newest first.
async function versionFolders(): Promise<string[]> {
  const versions = await readdir(DEBIAN_FOLDER).catch(() => []);
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'));
}

async function installedFolder(): Promise<string | null> {
  const initdb = await findProgram('initdb', await versionFolders());
  return initdb === null ? null : dirname(await realpath(initdb));
}

/**
 * Finds what runs a PostgreSQL server; installs postgresql with apt where that needs nobody's leave;
 * otherwise falls back to Docker.
 * @throws saying exactly what to install
 */
export async function ensurePostgres(): Promise<PostgresProgram> {
  const found = await installedFolder();
  if (found !== null) return { kind: 'program', folder: found };
  if (await aptInstall('postgresql')) {
    const installed = await installedFolder();
    if (installed !== null) return { kind: 'program', folder: installed };
  }
  if (await dockerAnswers()) {
    await docker('pull', '--quiet', POSTGRES_IMAGE);
    return { kind: 'docker', image: POSTGRES_IMAGE };
  }
  throw new Error(
    'The tests need a real PostgreSQL server and found neither its programs (initdb, postgres) nor Docker. ' +
      'Install one: "sudo apt-get install postgresql" (Debian, Ubuntu), "brew install postgresql" (macOS), ' +
      'or start Docker.',
  );
}

/** The same as `ensurePostgres` for a run whose global set-up has already installed things. */
export async function findPostgres(): Promise<PostgresProgram> {
  const folder = await installedFolder();
  return folder === null ? { kind: 'docker', image: POSTGRES_IMAGE } : { kind: 'program', folder };
}
