import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The chroma command line of the npm package `chromadb`, which is a script for Node. */
export function chromaScript(): string {
  const main = createRequire(import.meta.url).resolve('chromadb');
  return join(dirname(main), '..', 'cli.mjs');
}

let problem: Promise<string | null> | undefined;

/**
 * Why a ChromaDB server cannot run on this machine, in a sentence that says what to do; null where it
 * can. The server is a native library inside an npm package: it may be missing for the platform, or
 * need a newer C library. Costs about a second the first time.
 */
export function chromaProblem(): Promise<string | null> {
  return (problem ??= tryIt());
}

async function tryIt(): Promise<string | null> {
  const child = spawn(process.execPath, [chromaScript(), '--help'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (said += data.toString()));
  }
  const [code] = await once(child, 'close');
  if (code === 0) return null;
  return (
    `ChromaDB's server does not run on ${process.platform} ${process.arch}: its native library is missing or does not load. ` +
    `Run "npm ci" without --omit=optional; on Linux with a C library below 2.38 keep the "overrides" of package.json. It said: ${said.trim().slice(-600)}`
  );
}
