import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The settings of a service process; they are all it gets, besides PATH and HOME. */
export type ServiceEnv = Readonly<Record<string, string>>;

/**
 * The built service (`dist/main.js`) as a process of its own, on a free loopback port and in an
 * empty working directory, so that neither a developer's settings nor a `.env` reach it.
 */
export class ServiceProcess implements AsyncDisposable {
  /** Resolves when it has ended, by itself or not. */
  readonly exited: Promise<Exit>;
  private said = '';

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    private readonly directory: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => (this.said += data.toString()));
    }
    this.exited = new Promise((done) => {
      child.once('close', (code, signal) => {
        rmSync(directory, { recursive: true, force: true });
        done({ code, signal });
      });
    });
  }

  /**
   * Starts one without waiting for anything: for tests of a start that fails. `dotenv` becomes the
   * file `.env` in its working directory.
   */
  static async spawn(env: ServiceEnv = {}, dotenv?: string): Promise<ServiceProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'service-'));
    if (dotenv !== undefined) writeFileSync(join(directory, '.env'), dotenv);
    const port = env['PORT'] ?? String(await freePort());
    const { PATH = '', HOME = directory } = process.env;
    const settings = { PATH, HOME, DATA_DIR: join(directory, 'data'), ...env, PORT: port };
    const child = spawn(process.execPath, ['--enable-source-maps', resolve('dist/main.js')], {
      cwd: directory,
      env: settings,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
    return new ServiceProcess(child, `http://127.0.0.1:${port}`, directory);
  }

  /** Starts one and waits until it says that it is ready. @throws with its output if it ends or stays unready */
  static async start(env: ServiceEnv = {}, tries = 3): Promise<ServiceProcess> {
    const service = await ServiceProcess.spawn(env);
    try {
      await service.ready();
      return service;
    } catch (error) {
      await service.kill('SIGKILL');
      // A free port may be taken by any connection of this machine before the process listens on it.
      const isUnlucky = env['PORT'] === undefined && /EADDRINUSE/.test(service.output);
      if (!isUnlucky || tries <= 1) throw error;
      return ServiceProcess.start(env, tries - 1);
    }
  }

  /** What it has printed so far, both streams. */
  get output(): string {
    return this.said;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Resolves when `/health/ready` answers 200. */
  async ready(timeoutMs = 45_000): Promise<void> {
    let ended: Exit | undefined;
    void this.exited.then((exit) => (ended = exit));
    await eventually(
      async () => {
        if (ended) return true;
        const answer = await this.fetch('/health/ready', { signal: AbortSignal.timeout(2_000) });
        await answer.arrayBuffer();
        return answer.ok;
      },
      {
        timeoutMs,
        everyMs: 50,
        what: () => `the service at ${this.url} to be ready; it said:\n${this.said}`,
      },
    );
    if (ended)
      throw new Error(`The service ended (${JSON.stringify(ended)}); it said:\n${this.said}`);
  }

  /** A request to this replica; `path` begins with `/`. */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.url + path, init);
  }

  /** Sends a signal; resolves with the way it ended. SIGKILL is also sent to a process that is stopped. */
  kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<Exit> {
    this.child.kill(signal);
    return this.exited;
  }

  /** Freezes the process, as a suspended machine does. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Ends it: SIGTERM, and SIGKILL if that has no effect within five seconds. Harmless when repeated. */
  async stop(): Promise<Exit> {
    this.child.kill('SIGCONT');
    this.child.kill('SIGTERM');
    const grace = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    const exit = await this.exited;
    clearTimeout(grace);
    return exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Starts `count` replicas with the same settings, named replica-1 and so on; all are ready when it resolves. */
export async function startReplicas(count: number, env: ServiceEnv): Promise<ServiceProcess[]> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return Promise.all(
    numbers.map((number) => ServiceProcess.start({ ...env, INSTANCE_ID: `replica-${number}` })),
  );
}
