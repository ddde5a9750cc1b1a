import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { docker } from '../../scripts/support/installed.mjs';
import { findPostgres } from './postgres-program.js';

const run = promisify(execFile);
const STOP_GRACE_MS = 5_000;
// Data of a test need not survive a power cut; without fsync everything is several times faster.
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const settingArgs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

/** A real PostgreSQL server on a loopback port, with a temporary cluster of its own. */
export interface PostgresServer extends AsyncDisposable {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** The URL of its default database. */
  readonly url: string;
  /** Creates an empty database and gives its URL. */
  createDatabase(): Promise<string>;
  /** Ends it and its connections, keeping the data; `start` brings it back. */
  halt(): Promise<void>;
  /** Starts it again on the same port and waits until it answers. */
  start(): Promise<void>;
  /** Ends it and removes its data; harmless when repeated. */
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server and waits until it answers: one to two seconds. */
export async function startPostgres(): Promise<PostgresServer> {
  const program = await findPostgres();
  const port = await freePort();
  const runner =
    program.kind === 'program'
      ? await ProgramRunner.create(program.folder, port)
      : new DockerRunner(program.image, port);
  const server = new Server(port, runner);
  await server.start();
  return server;
}

interface Runner {
  start(): Promise<void>;
  halt(): Promise<void>;
  remove(): Promise<void>;
  /** What it said, for the message of a start that failed. */
  output(): string;
}

class Server implements PostgresServer {
  readonly host = '127.0.0.1';
  readonly url: string;
  private databases = 0;

  constructor(
    readonly port: number,
    private readonly runner: Runner,
  ) {
    this.url = this.urlOf('postgres');
  }

  async createDatabase(): Promise<string> {
    this.databases += 1;
    const name = `test_${this.databases}`;
    await this.query(`create database ${name}`);
    return this.urlOf(name);
  }

  async start(): Promise<void> {
    await this.runner.start();
    await eventually(() => this.query('select 1').then(() => true), {
      timeoutMs: 20_000,
      what: () => `PostgreSQL on port ${this.port}; it said: ${this.runner.output()}`,
    });
  }

  halt(): Promise<void> {
    return this.runner.halt();
  }

  async stop(): Promise<void> {
    await this.runner.halt();
    await this.runner.remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  private urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  private async query(sql: string): Promise<void> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 2_000 });
    // A server that goes away in the middle reports that here as well as to the caller.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(sql);
    } finally {
      await client.end();
    }
  }
}

/** Who runs the server: PostgreSQL refuses to run as root. */
async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = async (flag: string, user: string): Promise<number> =>
    Number((await run('id', [flag, user])).stdout);
  for (const user of ['postgres', 'nobody']) {
    try {
      return { uid: await idOf('-u', user), gid: await idOf('-g', user) };
    } catch {
      continue; // no such user here
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user "postgres" or "nobody".');
}

class ProgramRunner implements Runner {
  private child: ChildProcess | undefined;
  private said = '';

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly directory: string,
    private readonly user: { uid: number; gid: number } | undefined,
  ) {}

  static async create(folder: string, port: number): Promise<ProgramRunner> {
    const user = await serverUser();
    const directory = await mkdtemp(join(tmpdir(), 'postgres-'));
    if (user) await chown(directory, user.uid, user.gid);
    const args = [
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ];
    await run(join(folder, 'initdb'), [...args, '-D', join(directory, 'data')], {
      cwd: directory,
      ...user,
    });
    return new ProgramRunner(folder, port, directory, user);
  }

  start(): Promise<void> {
    const args = ['-D', join(this.directory, 'data'), '-p', String(this.port)];
    const network = ['-c', 'listen_addresses=127.0.0.1', '-k', this.directory];
    const child = spawn(join(this.folder, 'postgres'), [...args, ...network, ...settingArgs], {
      cwd: this.directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...this.user,
    });
    child.stderr?.on('data', (data: Buffer) => {
      this.said = (this.said + data.toString()).slice(-4_000);
    });
    process.once('exit', this.endWithProcess);
    this.child = child;
    return Promise.resolve();
  }

  async halt(): Promise<void> {
    const child = this.child;
    this.child = undefined;
    process.removeListener('exit', this.endWithProcess);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGINT'); // fast shutdown: SIGTERM would wait for the clients to leave
    const grace = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    await ended;
    clearTimeout(grace);
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  output(): string {
    return this.said;
  }

  private readonly endWithProcess = (): void => {
    this.child?.kill('SIGINT');
  };
}

class DockerRunner implements Runner {
  private container: string | undefined;

  constructor(
    private readonly image: string,
    private readonly port: number,
  ) {}

  async start(): Promise<void> {
    if (this.container !== undefined) {
      await docker('start', this.container);
      return;
    }
    const publish = ['--publish', `127.0.0.1:${this.port}:5432`];
    const trust = ['--env', 'POSTGRES_HOST_AUTH_METHOD=trust'];
    this.container = await docker(
      'run',
      '--detach',
      ...publish,
      ...trust,
      this.image,
      ...settingArgs,
    );
  }

  async halt(): Promise<void> {
    if (this.container !== undefined) await docker('stop', '--time', '5', this.container);
  }

  async remove(): Promise<void> {
    if (this.container !== undefined) await docker('rm', '--force', '--volumes', this.container);
    this.container = undefined;
  }

  output(): string {
    return this.container === undefined ? '' : `see "docker logs ${this.container}"`;
  }
}
