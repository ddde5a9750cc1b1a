import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.mjs';
import { until } from '../support/until.mjs';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** One replica of the built service as a process of its own, on a free loopback port. */
export class Replica {
  #processes;
  #settings;
  #process;
  #url;

  constructor(name, processes, settings) {
    this.name = name;
    this.#processes = processes;
    this.#settings = settings;
  }

  /** Starts it, again after its end; resolves when it is ready. */
  async start() {
    const port = await freePort();
    this.#url = `http://127.0.0.1:${port}`;
    const { PATH } = process.env;
    const own = { INSTANCE_ID: this.name, PORT: String(port), HOST: '127.0.0.1' };
    const env = { PATH, LOG_FORMAT: 'json', ...this.#settings, ...own };
    this.#process = this.#processes.start(process.execPath, [program], { env });
    const { child } = this.#process;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await until(
      `${this.name} to be ready`,
      async () => {
        if (hasEnded()) return true;
        const answer = await fetch(`${this.#url}/health/ready`, this.#soon(1_000));
        await answer.arrayBuffer();
        return answer.ok;
      },
      { timeoutMs: 30_000 },
    );
    if (hasEnded()) throw new Error(`${this.name} ended at its start:\n${this.#process.said()}`);
    return this.#url;
  }

  /** Sends a signal. */
  signal(name) {
    this.#process.child.kill(name);
  }

  /** Resolves with the exit code, or the signal that ended it. */
  get exited() {
    return this.#process.exited;
  }

  /** A request; resolves with its status and its parsed body. */
  async request(method, path, { body, headers = {} } = {}) {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(this.#url + path, {
      method,
      headers: { ...json, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...this.#soon(30_000),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  }

  upload(id, text) {
    return this.request('PUT', `/documents/${id}`, { body: { title: id, text } });
  }

  process(id) {
    return this.request('POST', `/documents/${id}/process`);
  }

  /** Starts processing in the background: 202, or 423. */
  begin(id) {
    return this.request('POST', `/documents/${id}/process`, {
      headers: { prefer: 'respond-async' },
    });
  }

  async document(id) {
    return (await this.request('GET', `/documents/${id}`)).body;
  }

  #soon(ms) {
    return { signal: AbortSignal.timeout(ms) };
  }
}
