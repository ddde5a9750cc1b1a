import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../support/free-port.js';
import { type ServiceEnv, ServiceProcess } from '../../support/service-process.js';
import type { Journal } from './journal.js';

/** How long the event loop stays blocked when it is told so. */
export const BLOCK_MS = 3_500;

const READY_MS = 90_000;
const STARTS = 10;

/** A replica of the built service that is restarted whenever it was ended, as an orchestrator does. */
export class Replica {
  private service: ServiceProcess | undefined;
  /** From the first readiness on, until its end is wanted. */
  private isExpectedUp = false;

  private constructor(
    readonly name: string,
    private readonly env: ServiceEnv,
    private readonly journal: Journal,
  ) {}

  /** Starts one on a port that it keeps for life. Resolves when it is ready. */
  static async start(name: string, env: ServiceEnv, journal: Journal): Promise<Replica> {
    const preloads = ['saboteur.mjs', 'witness.mjs'].map(
      (file) => `--import ${pathToFileURL(resolve('test/faults/campaign', file)).href}`,
    );
    const replica = new Replica(
      name,
      {
        ...env,
        INSTANCE_ID: name,
        PORT: String(await freePort()),
        NODE_OPTIONS: preloads.join(' '),
        SABOTAGE_BLOCK_MS: String(BLOCK_MS),
      },
      journal,
    );
    await replica.start();
    return replica;
  }

  get pid(): number {
    return this.running.pid;
  }

  /** A request to it. @throws TypeError while it is down */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.env['PORT']}${path}`, init);
  }

  /** What it has said since it was started last; the end of it. */
  get lastWords(): string {
    return this.service?.output.slice(-2_000) ?? '';
  }

  /** Ends it by a signal and starts it again, after `downMs`. Resolves when it is ready. */
  async restart(signal: 'SIGKILL' | 'SIGTERM', downMs: number): Promise<void> {
    const end = this.journal.outage(this.name, signal);
    this.isExpectedUp = false;
    const exit = await this.running.kill(signal);
    if (signal === 'SIGTERM' && exit.code !== 0) {
      this.journal.violation(
        `${this.name} ended with ${JSON.stringify(exit)} after SIGTERM; it said: ${this.lastWords}`,
      );
    }
    await delay(downMs);
    await this.start();
    end();
  }

  /** Freezes it for a time. */
  async freeze(ms: number): Promise<void> {
    const end = this.journal.outage(this.name, 'SIGSTOP');
    this.running.pause();
    await delay(ms);
    this.running.resume();
    end();
  }

  /** Blocks its event loop for BLOCK_MS; resolves when that is over. */
  async blockLoop(): Promise<void> {
    const end = this.journal.outage(this.name, 'blocked event loop');
    process.kill(this.pid, 'SIGUSR2');
    await delay(BLOCK_MS);
    end();
  }

  /** Makes its worker threads crash. */
  crashWorkers(): void {
    process.kill(this.pid, 'SIGHUP');
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.isExpectedUp = false;
    await this.service?.stop();
  }

  private get running(): ServiceProcess {
    if (!this.service) throw new Error(`${this.name} does not run.`);
    return this.service;
  }

  /** A start may fail while what it needs is away: then it is tried again. */
  private async start(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const service = await ServiceProcess.spawn(this.env);
      this.service = service;
      void service.exited.then((exit) => {
        if (!this.isExpectedUp || this.service !== service) return;
        this.journal.violation(
          `${this.name} ended by itself (${JSON.stringify(exit)}); it said: ${this.lastWords}`,
        );
      });
      try {
        await service.ready(READY_MS);
        this.isExpectedUp = true;
        return;
      } catch (error) {
        await service.kill('SIGKILL');
        if (attempt === STARTS) throw error;
      }
    }
  }
}
