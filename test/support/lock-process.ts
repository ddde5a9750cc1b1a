import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';

/** What a lock process says. */
export interface LockProcessEvent {
  readonly event: string;
  readonly fence?: string;
  readonly reason?: string;
  readonly error?: string;
}

/** A real process that uses the built lock module on a Redis. */
export class LockProcess {
  readonly events: LockProcessEvent[] = [];
  private readonly exited: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'exit');
    if (!child.stdout) throw new Error('no stdout');
    createInterface(child.stdout).on('line', (line) =>
      this.events.push(JSON.parse(line) as LockProcessEvent),
    );
  }

  static start(
    task: 'hold' | 'hold-permit' | 'wait' | 'leave' | 'block' | 'count',
    port: number,
    name: string,
    ttlMs: number,
  ): LockProcess {
    const script = fileURLToPath(new URL('./lock-process-main.mjs', import.meta.url));
    const args = [script, task, String(port), name, String(ttlMs)];
    return new LockProcess(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  /** Resolves with the first event of that kind. */
  async said(event: string): Promise<LockProcessEvent> {
    return eventually(() => this.events.find((one) => one.event === event), {
      what: `the process to say "${event}" (it said ${JSON.stringify(this.events)})`,
      timeoutMs: 20_000,
    });
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(name);
  }

  /** Kills it, if it still runs. */
  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Resolves when it has ended by itself. */
  async exit(): Promise<void> {
    await this.exited;
  }
}
