import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.js';

const GRACE_MS = 3_000;

/** A server that runs from a program of this machine and can be ended, frozen and started again. */
export class ServerProcess {
  private child: ChildProcess | undefined;
  private said = '';

  constructor(
    private readonly command: readonly [program: string, ...args: string[]],
    private readonly directory: string,
    /** Whether it serves; what it throws counts as no. */
    private readonly serves: () => Promise<boolean>,
  ) {}

  /** Starts it without waiting for anything. */
  async spawn(): Promise<void> {
    const [program, ...args] = this.command;
    const child = spawn(program, args, { cwd: this.directory, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on(
        'data',
        (data: Buffer) => (this.said = (this.said + data.toString()).slice(-4_000)),
      );
    }
    await once(child, 'spawn');
    this.child = child;
  }

  /** Resolves when it serves. @throws with what it said */
  async ready(): Promise<void> {
    await eventually(this.serves, {
      timeoutMs: 60_000,
      everyMs: 50,
      what: () => `${this.command[0]} to serve; it said: ${this.said}`,
    });
  }

  /** Ends it: as a crash does, or in an orderly way with a grace. Harmless when repeated. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const grace = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    await gone;
    clearTimeout(grace);
  }

  /** Freezes it: connections stay open and nothing is answered. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }
}
