import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makePdf } from '../support/pdf.js';

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doclock-pipeline-'));
  await writeFile(join(folder, 'two.pdf'), await makePdf(['first', 'second']));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the built pipeline in a process of its own, without a network; fails if it does not end by itself. */
async function inProcess(body: string): Promise<{ output: string; network: string[] }> {
  const log = join(folder, `network-${Math.random()}.log`);
  const built = pathToFileURL(resolve('dist/documents')).href;
  const script = join(folder, `script-${Math.random()}.mjs`);
  const source = `
    import { readFile } from 'node:fs/promises';
    import { UseEmbedder } from '${built}/adapters/use-embedder.js';
    import { Extractor } from '${built}/pipeline/extract/index.js';
    const embedder = new UseEmbedder({ workers: 1 });
    const extractor = new Extractor({ threads: 1 });
    const bytes = await readFile(${JSON.stringify(join(folder, 'two.pdf'))});
    const print = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
    ${body}`;
  await writeFile(script, source);
  const args = ['--import', new URL('../support/no-network.mjs', import.meta.url).href, script];
  const env = { ...process.env, NETWORK_LOG: log };
  const { stdout } = await run(process.execPath, args, { env, timeout: 25_000 });
  const network = (await readFile(log, 'utf8')).trim().split('\n');
  return { output: stdout.trim(), network };
}

describe('the pipeline in a process of its own', () => {
  it('reads and embeds without any network', async () => {
    const { output, network } = await inProcess(`
      const { pages } = await extractor.extract(bytes, 'application/pdf');
      const vectors = await embedder.embed(pages.map((page) => page.text));
      print([pages.length, vectors.length, vectors[0].length]);
      await Promise.all([extractor.close(), embedder.close()]);
    `);
    expect(output).toBe('[2,2,512]');
    // The block was in force in the main thread and in both workers, and nobody ran into it.
    expect(network.filter((line) => line.startsWith('armed'))).toHaveLength(3);
    expect(network).toHaveLength(3);
  });

  it('notices a use of the network in a worker', async () => {
    const { network } = await inProcess(`
      const { Worker, isMainThread } = await import('node:worker_threads');
      if (!isMainThread) await fetch('http://127.0.0.1:9/');
      else await new Promise((end) => new Worker(new URL(import.meta.url)).once('error', end));
    `);
    expect(network.join()).toMatch(/used fetch in thread [1-9]/);
  });

  it('says why when threads cannot be started', async () => {
    const preload = `
      import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) throw new Error('no threads here');`;
    const source = `
      const { UseEmbedder } = await import('./dist/documents/adapters/use-embedder.js');
      const embedder = new UseEmbedder({ workers: 2 });
      const texts = Array.from({ length: 20 }, () => 'text');
      for (let i = 0; i < 2; i += 1) {
        const error = await embedder.embed(texts).catch((reason) => reason);
        const { code, cause } = error;
        process.stdout.write([code, cause.message, cause.cause.message].join() + '\\n');
      }`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`];
    args.push('--input-type=module', '-e', source);
    const { stdout } = await run(process.execPath, args, { timeout: 25_000 });
    const line =
      'embedding_failed,A worker thread could not be started: no threads here,no threads here';
    expect(stdout.trim().split('\n')).toEqual([line, line]);
  });

  it('ends by itself with idle threads, closed or not', async () => {
    const { output } = await inProcess(`
      await extractor.extract(bytes, 'application/pdf');
      await embedder.embed(['a', 'b']);
      print(embedder.threadIds.length);
    `);
    expect(output).toBe('1');
  });

  it('ends although it was aborted or closed in the middle of the work', async () => {
    const { output } = await inProcess(`
      const texts = Array.from({ length: 200 }, (_, i) => 'text ' + i);
      const stop = new AbortController();
      const aborted = embedder.embed(texts, { signal: stop.signal, onProgress: () => stop.abort() });
      const [one] = await Promise.allSettled([aborted]);
      const closed = [embedder.embed(texts), extractor.extract(bytes, 'application/pdf')];
      const others = Promise.allSettled(closed);
      await Promise.all([extractor.close(), embedder.close()]);
      print([one, ...(await others)].map((outcome) => outcome.status));
    `);
    expect(output).toBe('["rejected","rejected","rejected"]');
  });
});
