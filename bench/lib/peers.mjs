import { readFileSync } from 'node:fs';

/**
 * What a peer's file exports: `about`, and `open`, which is called in a process of the peer's own.
 * @typedef {object} About
 * @property {string} title as in the table
 * @property {string} package whose version is named
 * @property {string} [driver] package of its Redis client
 * @property {string} settings how it is used here, where that is not its default
 * @property {boolean} renews whether it keeps a lock longer than its TTL by itself
 * @property {boolean} [baseline] no lock library, but what one could write in ten lines
 * @property {boolean} [floor] no peer, but what doclock cannot go below: measured where one pair is
 *
 * @typedef {object} OpenOptions
 * @property {number} port
 * @property {number} [pollMs] retry delay instead of the default
 *
 * @typedef {object} Peer
 * @property {(name: string) => Promise<unknown>} acquire a lock that nobody holds
 * @property {(name: string) => Promise<unknown>} wait for a lock, for ever
 * @property {(handle: any) => Promise<unknown>} release
 * @property {(name: string, ttlMs: number) => Promise<() => Promise<void>>} [hold] takes a lock and keeps
 * it renewed until the returned function is called
 */

/** In the order of the table. */
const ids = [
  'doclock',
  'doclock-scripts',
  'ioredis-plain',
  'ioredis-autopipelined',
  'redis-semaphore',
  'redis-kit-lock',
  'verrou',
  'redlock',
  'redlock-universal',
];

/** The life of a lock in all cases but that of the held leases, in ms. */
export const TTL_MS = 30_000;

/**
 * @param {string[]} [wanted] only these
 * @returns {Promise<(About & { id: string, version: string, driverVersion?: string })[]>}
 */
export async function loadPeers(wanted) {
  for (const id of wanted ?? []) {
    if (!ids.includes(id)) throw new Error(`There is no peer ${id}; there are ${ids.join(', ')}.`);
  }
  return Promise.all(
    ids
      .filter((id) => !wanted || wanted.includes(id))
      .map(async (id) => {
        const { about } = await import(`../peers/${id}.mjs`);
        return {
          id,
          ...about,
          version: id === 'doclock' ? versionAt('../../package.json') : installed(about.package),
          driverVersion: about.driver && installed(about.driver),
        };
      }),
  );
}

const installed = (name) => versionAt(`../node_modules/${name}/package.json`);

function versionAt(path) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version.replace(/^v/, '');
}
