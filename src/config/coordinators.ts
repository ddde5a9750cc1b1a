import type { AppConfig } from './config.js';
import type { Env } from './env.dto.js';
import { listOf } from './list-of.js';

/** The lock stores that are clusters of their own, and the setting that says where each is. */
const coordinators = [
  { store: 'etcd', setting: 'ETCD_ENDPOINTS' },
  { store: 'zookeeper', setting: 'ZOOKEEPER_SERVERS' },
] as const;

/** etcd counts lives in whole seconds, ZooKeeper sessions in ticks of seconds. */
const LEAST_TTL_MS = 1_000;

/** What does not fit together about a lock store that is a cluster of its own: one sentence per mistake. */
export function coordinatorMismatches(env: Env): string[] {
  return [...etcdMismatches(env), ...storeMismatches(env)];
}

function storeMismatches(env: Env): string[] {
  return coordinators.flatMap(({ store, setting }) => {
    const isChosen = env.LOCK_STORE === store;
    if (isChosen && !env[setting]) {
      return `LOCK_STORE is "${store}", but nothing says where it is. Set ${setting}.`;
    }
    if (!isChosen && env[setting]) {
      const chosen = env.LOCK_STORE === undefined ? 'not set' : `"${env.LOCK_STORE}"`;
      return `${setting} is set, but LOCK_STORE is ${chosen}, so it would be ignored. Set LOCK_STORE to "${store}", or empty ${setting}.`;
    }
    if (isChosen && env.LOCK_TTL_MS < LEAST_TTL_MS) {
      return `LOCK_TTL_MS is ${env.LOCK_TTL_MS}, but ${store} counts lives in seconds. Set it to ${LEAST_TTL_MS} or more.`;
    }
    return [];
  });
}

function etcdMismatches(env: Env): string[] {
  const { ETCD_ENDPOINTS, ETCD_CERT_FILE, ETCD_KEY_FILE } = env;
  if (!ETCD_CERT_FILE && !ETCD_KEY_FILE) return [];
  if (!ETCD_CERT_FILE || !ETCD_KEY_FILE) {
    return [
      'Of ETCD_CERT_FILE and ETCD_KEY_FILE only one is set, but a client certificate needs its key. Set both, or none.',
    ];
  }
  if (listOf(ETCD_ENDPOINTS).every((endpoint) => endpoint.startsWith('https://'))) return [];
  return [
    'ETCD_CERT_FILE is set, but not all of ETCD_ENDPOINTS begin with https://, so it would not be shown to them. Correct them, or empty ETCD_CERT_FILE and ETCD_KEY_FILE.',
  ];
}

/** Where etcd is, and who this service is there. */
export function etcdConfig(env: Env): AppConfig['etcd'] {
  const { ETCD_ENDPOINTS, ETCD_CERT_FILE: certFile, ETCD_KEY_FILE: keyFile } = env;
  if (!ETCD_ENDPOINTS) return null;
  const clientCertificate = certFile && keyFile ? { certFile, keyFile } : null;
  return { endpoints: listOf(ETCD_ENDPOINTS), clientCertificate };
}
