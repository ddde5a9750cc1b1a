import { PeerProcess } from './peer-process.mjs';

/** The two processes of one peer; they live through the whole run and stay warm. */
export class PeerPair {
  /**
   * @param {string} id
   * @param {{ port: number, pollMs: number | undefined }} options
   */
  constructor(id, options) {
    this.id = id;
    this.first = new PeerProcess(id, options);
    this.second = new PeerProcess(id, options);
  }

  /** Both have loaded their packages and are connected. */
  async ready() {
    await Promise.all([this.first.call('process', 'ready'), this.second.call('process', 'ready')]);
  }

  async stop() {
    await Promise.all([this.first.stop(), this.second.stop()]);
  }
}
