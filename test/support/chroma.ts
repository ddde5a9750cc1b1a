import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChromaClient } from 'chromadb';
import { chromaProblem, chromaScript } from './chroma-program.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';

/** A real ChromaDB server on a free loopback port, with a temporary directory of its own. */
export class ChromaServer implements AsyncDisposable {
  readonly url: string;
  /** ChromaDB's own client, to look with other eyes and to interfere. */
  readonly client: ChromaClient;
  private child: ChildProcess | undefined;
  private said = '';

  private constructor(
    readonly port: number,
    private readonly directory: string,
  ) {
    this.url = `http://127.0.0.1:${port}`;
    this.client = new ChromaClient({ host: '127.0.0.1', port });
  }

  /** Starts one and waits until it answers. @throws saying what is missing where none can run */
  static async start(): Promise<ChromaServer> {
    const problem = await chromaProblem();
    if (problem !== null) throw new Error(problem);
    const directory = await mkdtemp(join(tmpdir(), 'chroma-'));
    const server = new ChromaServer(await freePort(), directory);
    await server.restart();
    return server;
  }

  /** Starts it again on the same port and data; ends it first if it still runs. */
  async restart(): Promise<void> {
    await this.end('SIGTERM');
    const { PATH } = process.env;
    const place = ['--path', this.directory, '--host', '127.0.0.1', '--port', String(this.port)];
    const child = spawn(process.execPath, [chromaScript(), 'run', ...place], {
      cwd: this.directory,
      env: { PATH, HOME: this.directory },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => (this.said = (this.said + data.toString()).slice(-4000)));
    }
    await once(child, 'spawn');
    this.child = child;
    await eventually(() => this.answers(), {
      timeoutMs: 20_000,
      what: () => `ChromaDB on port ${this.port}; it said: ${this.said}`,
    });
  }

  /** Deletes all collections. */
  async empty(): Promise<void> {
    const collections = await this.client.listCollections();
    await Promise.all(collections.map(({ name }) => this.client.deleteCollection({ name })));
  }

  /** Ends it as a crash would; `restart` brings it back with what it had acknowledged. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Freezes it: connections stay open and nothing is answered. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Ends it and removes its directory; harmless when repeated. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    await rm(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  private async answers(): Promise<boolean> {
    const signal = AbortSignal.timeout(1_000);
    const response = await fetch(`${this.url}/api/v2/heartbeat`, { signal });
    await response.arrayBuffer();
    return response.ok;
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const grace = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await gone;
    clearTimeout(grace);
  }
}
