/** What runs a Redis server on this machine. */
import { aptInstall, docker, dockerAnswers, findProgram } from './installed.mjs';

const REDIS_IMAGE = 'redis:7.4.6-alpine';

export async function ensureRedis() {
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
    'A real Redis server is needed, and there is neither redis-server on PATH nor Docker. ' +
      'Install one: "sudo apt-get install redis-server" (Debian, Ubuntu), "brew install redis" (macOS), ' +
      'or start Docker.',
  );
}

export async function findRedis() {
  const path = await findProgram('redis-server');
  return path ? { kind: 'program', path } : { kind: 'docker', image: REDIS_IMAGE };
}
