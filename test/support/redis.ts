import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { docker } from '../../scripts/support/installed.mjs';
import { findRedis } from '../../scripts/support/redis-program.mjs';

/** How a test's own Redis server starts. */
export interface RedisOptions {
  /** More options of redis-server, such as `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[];
  /** A fixed port, for servers that must know each other; a free one by default. */
  readonly port?: number;
  /** Another program that speaks the same protocol, such as valkey-server. */
  readonly program?: string;
  /** More of its environment, such as a shifted clock. Without effect where Redis is a Docker image. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A real Redis server on a loopback port, with a temporary directory of its own. It persists nothing unless told to. */
export interface RedisServer extends AsyncDisposable {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly url: string;
  /** Whether its process lives: another one may have taken the port of one that does not. */
  readonly isRunning: boolean;
  /** Ends it in an orderly way and removes its directory; harmless when repeated. */
  stop(): Promise<void>;
  /** Ends it as a crash would; `restart` brings it back. */
  kill(): Promise<void>;
  /** Starts it again on the same port and directory; ends it first if it still runs. */
  restart(): Promise<void>;
  /** Freezes it: connections stay open and nothing is answered. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** Starts a Redis server and waits until it answers. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const program = options.program
    ? { kind: 'program' as const, path: options.program }
    : await findRedis();
  const port = options.port ?? (await freePort());
  const directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const args = ['--save', '', '--appendonly', 'no', ...(options.args ?? [])];
  const runner =
    program.kind === 'program'
      ? new ProgramRunner(program.path, port, directory, args, options.env)
      : new DockerRunner(program.image, port, args);
  const server = new Server(port, directory, runner);
  await server.restart();
  return server;
}

interface Runner {
  readonly isRunning: boolean;
  start(): Promise<void>;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  freeze(frozen: boolean): Promise<void>;
  remove(): Promise<void>;
  /** What it said, for the message of a start that failed. */
  output(): string;
}

class Server implements RedisServer {
  readonly host = '127.0.0.1';
  readonly url: string;

  constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly runner: Runner,
  ) {
    this.url = `redis://127.0.0.1:${port}`;
  }

  get isRunning(): boolean {
    return this.runner.isRunning;
  }

  async stop(): Promise<void> {
    await this.runner.end('SIGTERM');
    await this.runner.remove();
    await rm(this.directory, { recursive: true, force: true });
  }

  kill(): Promise<void> {
    return this.runner.end('SIGKILL');
  }

  async restart(): Promise<void> {
    await this.runner.end('SIGTERM');
    await this.runner.start();
    await eventually(() => answers(this.port), {
      what: () => `redis-server on port ${this.port}; it said: ${this.runner.output()}`,
    });
  }

  pause(): Promise<void> {
    return this.runner.freeze(true);
  }

  resume(): Promise<void> {
    return this.runner.freeze(false);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

class ProgramRunner implements Runner {
  private child: ChildProcess | undefined;
  private said = '';

  constructor(
    private readonly path: string,
    private readonly port: number,
    private readonly directory: string,
    private readonly args: readonly string[],
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  get isRunning(): boolean {
    return (
      this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
    );
  }

  async start(): Promise<void> {
    const fixed = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.directory];
    const child = spawn(this.path, [...fixed, ...this.args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.env },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => (this.said = (this.said + data.toString()).slice(-4000)));
    }
    await once(child, 'spawn');
    this.child = child;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child;
    if (!child || !this.isRunning) return;
    this.child = undefined;
    const gone = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const grace = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await gone;
    clearTimeout(grace);
  }

  async freeze(frozen: boolean): Promise<void> {
    this.child?.kill(frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async remove(): Promise<void> {}

  output(): string {
    return this.said;
  }
}

class DockerRunner implements Runner {
  private container: string | undefined;
  isRunning = false;

  constructor(
    private readonly image: string,
    private readonly port: number,
    private readonly args: readonly string[],
  ) {}

  async start(): Promise<void> {
    if (this.container) await docker('start', this.container);
    else {
      const publish = ['--publish', `127.0.0.1:${this.port}:6379`];
      this.container = await docker(
        'run',
        '--detach',
        ...publish,
        this.image,
        'redis-server',
        ...this.args,
      );
    }
    this.isRunning = true;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!this.container || !this.isRunning) return;
    this.isRunning = false;
    await docker('unpause', this.container).catch(() => 'it was not paused');
    await docker('stop', '--time', signal === 'SIGKILL' ? '0' : '3', this.container);
  }

  async freeze(frozen: boolean): Promise<void> {
    if (this.container) await docker(frozen ? 'pause' : 'unpause', this.container);
  }

  async remove(): Promise<void> {
    if (this.container) await docker('rm', '--force', this.container);
    this.container = undefined;
  }

  output(): string {
    return `(see docker logs ${this.container ?? ''})`;
  }
}

/** Whether a server on `port` speaks the protocol; an error such as NOAUTH is an answer too, LOADING is not. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const end = (verdict: boolean) => {
      socket.destroy();
      resolve(verdict);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('data', (data) => end(!data.toString().startsWith('-LOADING')));
  });
}
