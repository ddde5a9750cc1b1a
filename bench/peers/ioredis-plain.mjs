import { openPlain } from '../lib/plain-ioredis.mjs';

/** @type {import('../lib/peers.mjs').About} */
export const about = {
  title: 'plain ioredis',
  package: 'ioredis',
  settings: 'SET NX PX and compare-and-delete in Lua; a waiter tries every 50 ms',
  renews: false,
  baseline: true,
};

/** @param {import('../lib/peers.mjs').OpenOptions} options */
export const open = (options) => openPlain(options, false);
