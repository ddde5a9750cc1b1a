import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** A small program over the built service (`test/support/processes/*.mjs`), as a real process. */
export class Child {
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  private readonly lines: string[] = [];
  private readonly listeners: (() => void)[] = [];

  private constructor(readonly process: ChildProcess) {
    for (const stream of [process.stdout, process.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        for (const wake of this.listeners.splice(0)) wake();
      });
    }
    this.exited = new Promise((done) => {
      process.once('close', (code, signal) => {
        for (const wake of this.listeners.splice(0)) wake();
        done(code ?? signal ?? 'unknown');
      });
    });
  }

  /** Starts `test/support/processes/<script>` with the arguments as one JSON text. */
  static start(script: string, argument: unknown): Child {
    const path = resolve('test/support/processes', script);
    const args = ['--enable-source-maps', path, JSON.stringify(argument)];
    return new Child(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] }));
  }

  /** Everything it said. */
  get output(): string {
    return this.lines.join('\n');
  }

  /** Resolves once it has said a line that begins with `start`. @throws when it ends without */
  async says(start: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.startsWith(start));
      if (found !== undefined) return found;
      if (this.process.exitCode !== null || this.process.signalCode !== null) {
        throw new Error(`The process ended without saying "${start}"; it said: ${this.output}`);
      }
      await new Promise<void>((wake) => this.listeners.push(wake));
    }
  }

  /** Tells it to go on. */
  tell(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  /** kill -9; resolves once it is gone. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }
}
