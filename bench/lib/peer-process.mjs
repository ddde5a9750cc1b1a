import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('peer-main.mjs', import.meta.url));
const GRACE_MS = 3_000;

/** One process of one peer, as the benchmark sees it: it does what the cases' worker sides offer. */
export class PeerProcess {
  #child;
  #nextId = 1;
  #waiting = new Map();

  /**
   * @param {string} peer
   * @param {{ port: number, pollMs: number | undefined }} options
   */
  constructor(peer, options) {
    this.peer = peer;
    this.#child = fork(main, [peer, JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.on('message', ({ id, value, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(value);
      else reject(new Error(`${peer}: ${error}`));
    });
    this.#child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`A process of ${peer} ended (${signal ?? code}).`));
      }
      this.#waiting.clear();
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /**
   * Calls a function of a case's worker side in the process.
   * @param {string} worker
   * @param {string} method
   * @param {unknown} [argument]
   * @returns {Promise<any>}
   */
  call(worker, method, argument) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, worker, method, argument }, (error) => error && reject(error));
    });
  }

  /** Asks it to end, and ends it where it does not. */
  async stop() {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
    if (child.connected) child.disconnect();
    await exited;
    clearTimeout(timer);
  }
}
