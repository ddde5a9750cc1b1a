import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Every process the demo has started, so that none outlives it, whatever happens. */
export class Processes {
  #running = new Set();

  /** Starts one; what it prints comes out of `lines`, its end out of `exited` as an exit code or a signal. */
  start(command, args, { env, stdin = 'ignore' } = {}) {
    const child = spawn(command, args, { env, stdio: [stdin, 'pipe', 'pipe'] });
    const exited = once(child, 'exit').then(([code, signal]) => {
      this.#running.delete(child);
      return code ?? signal;
    });
    this.#running.add(child);
    return { child, exited, said: collect(child) };
  }

  /** Ends all that still run: SIGTERM, then SIGKILL. A stopped process only hears the latter. */
  async end() {
    const children = [...this.#running];
    const gone = Promise.all(children.map((child) => once(child, 'exit')));
    for (const child of children) {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
    }
    const grace = setTimeout(() => this.kill(), 3_000);
    await gone;
    clearTimeout(grace);
  }

  /** The last resort, also from an exit handler. */
  kill() {
    for (const child of this.#running) child.kill('SIGKILL');
  }
}

/** The output so far, as a function. */
function collect(child) {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (data) => (text = (text + data).slice(-100_000)));
  }
  return () => text;
}
