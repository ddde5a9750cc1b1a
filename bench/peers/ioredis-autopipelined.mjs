import { openPlain } from '../lib/plain-ioredis.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'plain ioredis, autopipelined',
  package: 'ioredis',
  settings: 'the same with `enableAutoPipelining: true`',
  renews: false,
  baseline: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export const open = (options) => openPlain(options, true);
