import { startEtcd } from '../../test/support/etcd.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { startRedisCluster } from '../../test/support/redis-cluster.ts';
import { startRedis } from '../../test/support/redis.ts';
import { startPrimary, startReplicaOf } from '../../test/support/replication.ts';
import { startSentinel } from '../../test/support/sentinel.ts';
import { startZookeeper } from '../../test/support/zookeeper.ts';

/**
 * @typedef {object} Running servers, and how a process gets at them
 * @property {object} connect what `peers/store.mjs` makes a store of
 * @property {(name: string) => Promise<unknown>} [breakOne] ends, as a crash does, the server on which
 * the lock depends most; absent where there is only one
 * @property {() => Promise<unknown>} stop
 *
 * @typedef {object} StoreSetup
 * @property {string} id
 * @property {string} title
 * @property {string} servers for people
 * @property {string} [broken] what `breakOne` ends
 * @property {() => Promise<Running>} start
 */

const stopAll = (servers) => () => Promise.all(servers.map((server) => server.stop()));

/** @type {readonly StoreSetup[]} */
export const storeSetups = [
  {
    id: 'redis',
    title: 'redis',
    servers: 'one',
    async start() {
      const redis = await startRedis();
      return { connect: { kind: 'redis', port: redis.port }, stop: () => redis.stop() };
    },
  },
  {
    id: 'sentinel',
    title: 'redis with Sentinel',
    servers: 'primary, replica, one sentinel that looks every 0.5 s',
    broken: 'the primary',
    async start() {
      const primary = await startPrimary();
      const replica = await startReplicaOf(primary.port);
      const sentinel = await startSentinel(primary.port);
      return {
        connect: { kind: 'sentinel', port: sentinel.port },
        breakOne: () => primary.kill(),
        stop: stopAll([sentinel, replica, primary]),
      };
    },
  },
  {
    id: 'cluster',
    title: 'redis on a cluster',
    servers: 'three primaries, a replica each, node timeout 1.5 s',
    broken: 'the primary of the lock’s slot',
    async start() {
      const cluster = await startRedisCluster();
      return {
        connect: { kind: 'cluster', nodes: cluster.addresses },
        breakOne: async (name) => (await cluster.masterOf(`lock:${name}`)).server.kill(),
        stop: () => cluster.stop(),
      };
    },
  },
  {
    id: 'redis-wait',
    title: 'redis-wait',
    servers: 'primary and one replica',
    async start() {
      const primary = await startPrimary();
      const replica = await startReplicaOf(primary.port);
      return {
        connect: { kind: 'redis-wait', port: primary.port },
        stop: stopAll([replica, primary]),
      };
    },
  },
  {
    id: 'redlock',
    title: 'redlock',
    servers: 'three independent primaries',
    broken: 'one of them',
    async start() {
      const nodes = await Promise.all([startRedis(), startRedis(), startRedis()]);
      return {
        connect: { kind: 'redlock', ports: nodes.map(({ port }) => port) },
        breakOne: () => nodes[0].kill(),
        stop: stopAll(nodes),
      };
    },
  },
  {
    id: 'postgres',
    title: 'postgres',
    servers: 'one, without fsync',
    async start() {
      const postgres = await startPostgres();
      return { connect: { kind: 'postgres', url: postgres.url }, stop: () => postgres.stop() };
    },
  },
  {
    id: 'etcd',
    title: 'etcd',
    servers: 'three, election timeout 0.5 s',
    broken: 'the leader',
    async start() {
      const etcd = await startEtcd(3);
      return {
        connect: { kind: 'etcd', endpoints: etcd.endpoints },
        breakOne: async () => (await etcd.leader()).server.end('SIGKILL'),
        stop: () => etcd.stop(),
      };
    },
  },
  {
    id: 'zookeeper',
    title: 'zookeeper',
    servers: 'three',
    broken: 'the leader',
    async start() {
      const zookeeper = await startZookeeper(3);
      return {
        connect: { kind: 'zookeeper', servers: zookeeper.servers },
        breakOne: async () => (await zookeeper.leader()).server.end('SIGKILL'),
        stop: () => zookeeper.stop(),
      };
    },
  },
];
