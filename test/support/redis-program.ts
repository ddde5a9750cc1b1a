import { aptInstall, docker, dockerAnswers, findProgram } from './installed.ts';

/** The image that stands in where no redis-server can be had. */
const REDIS_IMAGE = 'redis:7-alpine';

/** What runs a Redis server here: a program by its path, or a Docker image. */
export type RedisProgram =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'docker'; readonly image: string };

/**
 * Finds what runs a Redis server; installs redis-server with apt where that needs nobody's leave;
 * otherwise falls back to Docker.
 * @throws saying exactly what to install
 */
export async function ensureRedis(): Promise<RedisProgram> {
  const found = await findProgram('redis-server');
  if (found) return { kind: 'program', path: found };
  if (await aptInstall('redis-server', 'redis-tools')) {
    const installed = await findProgram('redis-server');
    if (installed) return { kind: 'program', path: installed };
  }
  if (await dockerAnswers()) {
    await docker('pull', '--quiet', REDIS_IMAGE);
    return { kind: 'docker', image: REDIS_IMAGE };
  }
  throw new Error(
    'The tests need a real Redis server and found neither redis-server on PATH nor Docker. ' +
      'Install one: "sudo apt-get install redis-server" (Debian, Ubuntu), "brew install redis" (macOS), ' +
      'or start Docker.',
  );
}

/** The same as `ensureRedis` for a run whose global set-up has already installed things: costs next to nothing. */
export async function findRedis(): Promise<RedisProgram> {
  const path = await findProgram('redis-server');
  return path ? { kind: 'program', path } : { kind: 'docker', image: REDIS_IMAGE };
}
