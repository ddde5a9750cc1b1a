import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { aptInstall, findProgram } from '../../scripts/support/installed.mjs';

const run = promisify(execFile);
const root = resolve('.');

let folder: string;
let readme: string;
let port: number;
let service: ReturnType<typeof spawn>;
let said = '';

/** The shell blocks under a heading of the README ('' is what stands before the first one), as written. */
function shellBlocks(heading: string): string[] {
  const sections = readme.split(/^## /m);
  const section = heading === '' ? sections[0] : sections.find((one) => one.startsWith(heading));
  return [...(section ?? '').matchAll(/```sh\n([^]*?)```/g)].map((match) => match[1] ?? '');
}

/** Runs a block as written, only on this run's port. */
async function shell(block: string): Promise<string> {
  const command = block.replaceAll(':3000/', `:${port}/`);
  const { stdout } = await run('sh', ['-ec', command], { cwd: folder });
  return stdout;
}

/** What a fresh clone of the working tree would hold. */
async function copyTree(to: string): Promise<void> {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await run('git', listed, { cwd: root, maxBuffer: 1 << 26 });
  for (const file of new Set(stdout.split('\0').filter((one) => one !== ''))) {
    await cp(join(root, file), join(to, file), { recursive: true }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // deleted, not committed yet
    });
  }
}

beforeAll(async () => {
  if (!(await findProgram('curl'))) await aptInstall('curl');
  folder = await mkdtemp(join(tmpdir(), 'readme-'));
  readme = await readFile(join(root, 'README.md'), 'utf8');
  port = await freePort();
  await copyTree(folder);
  const [start = ''] = shellBlocks('');
  const { HOME = folder, PATH = '' } = process.env;
  const bare = PATH.split(':').filter((one) => !one.includes('node_modules'));
  const env = { HOME, PATH: [dirname(process.execPath), ...bare].join(':'), PORT: String(port) };
  service = spawn('sh', ['-ec', start], { cwd: folder, env, detached: true });
  for (const stream of [service.stdout, service.stderr]) {
    stream?.on('data', (data: Buffer) => (said += data.toString()));
  }
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
  const started = eventually(ready, { timeoutMs: 580_000, everyMs: 250, what: 'npm start' });
  const failed = once(service, 'exit').then(() => Promise.reject(new Error(`it ended:\n${said}`)));
  await Promise.race([started, failed]);
}, 600_000);

afterAll(async () => {
  if (service?.pid !== undefined && service.exitCode === null)
    process.kill(-service.pid, 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

describe('the README', () => {
  it('opens with the commands that run and test everything', () => {
    expect(shellBlocks('')).toEqual(
      expect.arrayContaining([
        'npm ci && npm start\n',
        'docker compose up --build --scale app=3\n',
        'npm ci && npm test\n',
      ]),
    );
  });

  it('is true when typed: upload, process twice at once, search', async () => {
    const [upload = '', twice = '', search = ''] = shellBlocks('Try it');
    expect(JSON.parse(await shell(upload))).toMatchObject({ id: '1001', state: 'uploaded' });
    const both = await shell(twice);
    expect(both).toContain('"code":"lock_busy"');
    expect(both).toContain('{"status":"ok","id":"1001","pages":3,"chunks":3,');
    const found = JSON.parse(await shell(search)) as { passages: { page: number; text: string }[] };
    expect(found.passages[0]).toMatchObject({ page: 3 });
    expect(found.passages[0]?.text).toContain('late writer');
  });

  it('has links that lead somewhere', async () => {
    for (const [, target = ''] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      expect(await readFile(join(root, target), 'utf8')).not.toBe('');
    }
  });

  it('ends by a SIGTERM to npm', async () => {
    const ended = once(service, 'exit');
    process.kill(-(service.pid as number), 'SIGTERM');
    await ended;
    // The shell between npm and the service ends at once, the service when it has put everything away.
    const isGone = () =>
      fetch(`http://127.0.0.1:${port}/health/live`).then(
        () => false,
        (error: Error) => error.message === 'fetch failed',
      );
    await eventually(isGone, { what: 'the service to end' });
  });
});
