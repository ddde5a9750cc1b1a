import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { findRedis } from '../../scripts/support/redis-program.mjs';
import { type Certificates, makeCertificates } from '../support/certificates.js';
import { DocumentsClient } from '../support/documents-client.js';
import { startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { startSentinel } from '../support/sentinel.js';
import { ServiceProcess } from '../support/service-process.js';

// In containers the servers would not find the files of the certificates.
const itHere = (await findRedis()).kind === 'program' ? it : it.skip;

const password = 'p@ss/wörd, 1%';
const inUrl = encodeURIComponent(password);

let files: Certificates;
const opened: (() => unknown)[] = [];

beforeAll(async () => {
  files = await makeCertificates();
});

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

afterAll(async () => files[Symbol.asyncDispose]());

interface SecuredRedis {
  readonly server: RedisServer;
  readonly tlsPort: number;
  /** As the default user, without TLS. */
  readonly admin: Redis;
}

/** A server that knows nobody without a password, and has a port for TLS. `app` is a user of it. */
async function securedRedis(args: readonly string[] = []): Promise<SecuredRedis> {
  const tlsPort = await freePort();
  const tls = [
    ...['--tls-port', String(tlsPort), '--tls-auth-clients', 'no'],
    ...['--tls-cert-file', files.cert, '--tls-key-file', files.key, '--tls-ca-cert-file', files.ca],
  ];
  const server = await startRedis({ args: ['--requirepass', password, ...tls, ...args] });
  const admin = new Redis(server.port, server.host, { password });
  opened.push(
    () => server.stop(),
    () => admin.disconnect(),
  );
  await admin.call('ACL', 'SETUSER', 'app', 'on', `>${password}`, '~*', '&*', '+@all');
  return { server, tlsPort, admin };
}

const as = (user: string, address: string | number) =>
  `rediss://${user}:${inUrl}@${typeof address === 'number' ? `127.0.0.1:${address}` : address}`;

const redisStores = [
  {
    where: 'one server',
    start: async () => {
      const { tlsPort, admin } = await securedRedis();
      return { admin, settings: { REDIS_URL: as('app', tlsPort) } };
    },
  },
  {
    where: 'the primary that a Sentinel names',
    start: async () => {
      const { tlsPort, admin } = await securedRedis();
      const sentinel = await startSentinel(tlsPort, (port) => [
        ...['port 0', `tls-port ${port}`, 'tls-replication yes', 'tls-auth-clients no'],
        ...[`tls-cert-file ${files.cert}`, `tls-key-file ${files.key}`],
        `tls-ca-cert-file ${files.ca}`,
        'requirepass of-the-sentinel',
        `sentinel auth-pass mymaster "${password}"`,
      ]);
      opened.push(() => sentinel.stop());
      return {
        admin,
        settings: {
          REDIS_SENTINELS: `rediss://:of-the-sentinel@127.0.0.1:${sentinel.port}`,
          REDIS_SENTINEL_NAME: as('app', 'mymaster'),
        },
      };
    },
  },
  {
    where: 'a cluster',
    start: async () => {
      const { tlsPort, admin } = await securedRedis([
        ...[
          '--cluster-enabled',
          'yes',
          '--cluster-announce-ip',
          '127.0.0.1',
          '--tls-cluster',
          'yes',
        ],
        ...['--cluster-port', String(await freePort())],
      ]);
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
      await eventually(async () => (await admin.cluster('INFO')).includes('cluster_state:ok'));
      return { admin, settings: { REDIS_CLUSTER_NODES: as('app', tlsPort) } };
    },
  },
  {
    where: 'Redlock nodes',
    start: async () => {
      const nodes = await Promise.all([securedRedis(), securedRedis(), securedRedis()]);
      return {
        admin: nodes[0].admin,
        settings: {
          LOCK_STORE: 'redlock',
          REDLOCK_URLS: nodes.map(({ tlsPort }) => as('app', tlsPort)).join(),
          REDLOCK_MAX_CLOCK_SKEW_MS: '0',
          LOCK_TTL_MS: '3000',
        },
      };
    },
  },
];

itHere.each(redisStores)(
  'the service speaks TLS, with a user and a password, to $where',
  async ({ start }) => {
    const { admin, settings } = await start();
    await using service = await started(settings);
    await processes(service);
    expect(await admin.exists('{lock:doc:a}:fence')).toBe(1);
    // The connection for messages has a password too.
    await eventually(async () => (await admin.pubsub('CHANNELS', 'lock:wake:*')).length > 0);
    expect(service.output).not.toContain(password);
    expect(service.output).not.toContain(inUrl);
  },
  90_000,
);

it('the service shows etcd its certificate, and is somebody there', async () => {
  const etcd = await startEtcd(1, files);
  opened.push(() => etcd.stop());
  // The user is the certificate's common name, and may use locks only.
  await etcd.ctl('user', 'add', 'root:root');
  await etcd.ctl('user', 'grant-role', 'root', 'root');
  await etcd.ctl('role', 'add', 'locks');
  for (const keys of ['lock:', '{lock:']) {
    await etcd.ctl('role', 'grant-permission', 'locks', 'readwrite', keys, '--prefix=true');
  }
  await etcd.ctl('user', 'add', 'doclock:unused');
  await etcd.ctl('user', 'grant-role', 'doclock', 'locks');
  await etcd.ctl('auth', 'enable');
  const settings = {
    LOCK_STORE: 'etcd',
    ETCD_ENDPOINTS: etcd.endpoints.join(),
    ETCD_CERT_FILE: files.cert,
    ETCD_KEY_FILE: files.key,
  };
  await using service = await started(settings);
  await processes(service);
  const { exited } = await ServiceProcess.spawn({ ...settings, ETCD_KEY_FILE: '/no/such/file' });
  expect(await exited).toEqual({ code: 1, signal: null });
}, 90_000);

function started(settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return ServiceProcess.start({
    ...settings,
    EMBED_WORKERS: '1',
    NODE_EXTRA_CA_CERTS: files.ca,
  });
}

async function processes(service: ServiceProcess): Promise<void> {
  const client = new DocumentsClient(service);
  await client.put('a', 'A text.');
  expect(await client.process('a')).toMatchObject({ status: 200 });
}
