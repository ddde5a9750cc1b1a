/**
 * What the cases measure with.
 * @typedef {object} Tools
 * @property {import('./redis-probe.mjs').RedisProbe} probe
 * @property {(peer: string) => () => Promise<number>} sentOf how many commands a peer's clients have sent
 */
export {};
