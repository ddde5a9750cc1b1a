import { describe, expect, it } from '@jest/globals';
import { resolveConfig } from './resolve-config.js';
import { mistakes } from './resolve-config.spec-support.js';

describe('the settings', () => {
  it('choose the lock store by what is there', () => {
    expect(resolveConfig({ REDIS_URL: 'redis://a:1' })).toMatchObject({
      lock: { store: 'redis' },
      redis: { kind: 'single', url: 'redis://a:1' },
    });
    expect(resolveConfig({ REDIS_SENTINELS: 'a:1, b:2', REDIS_SENTINEL_NAME: 'm' })).toMatchObject({
      lock: { store: 'redis' },
      redis: {
        kind: 'sentinel',
        name: 'm',
        sentinels: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
      },
    });
    expect(resolveConfig({ REDIS_CLUSTER_NODES: 'a:1,b:2' })).toMatchObject({
      lock: { store: 'redis' },
      redis: {
        kind: 'cluster',
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
      },
    });
    expect(resolveConfig({ LOCK_MAX_HOLD_MS: 'Infinity' }).lock.maxHoldMs).toBe(Infinity);
  });

  it('choose a cluster for locks only where it is named and TTLs are long enough for it', () => {
    const endpoints = 'http://etcd-1:2379, etcd-2:2379';
    expect(resolveConfig({ LOCK_STORE: 'etcd', ETCD_ENDPOINTS: endpoints })).toMatchObject({
      lock: { store: 'etcd' },
      etcd: { endpoints: ['http://etcd-1:2379', 'etcd-2:2379'] },
    });
    expect(resolveConfig({ LOCK_STORE: 'zookeeper', ZOOKEEPER_SERVERS: 'a:1, b:2' })).toMatchObject(
      { lock: { store: 'zookeeper' }, zookeeper: { servers: ['a:1', 'b:2'] } },
    );
    expect(mistakes({ LOCK_STORE: 'zookeeper' })).toEqual([
      expect.stringContaining('Set ZOOKEEPER_SERVERS'),
    ]);
    expect(mistakes({ LOCK_STORE: 'etcd' })).toEqual([
      expect.stringContaining('Set ETCD_ENDPOINTS'),
    ]);
    expect(mistakes({ ETCD_ENDPOINTS: endpoints })).toEqual([
      expect.stringContaining('LOCK_STORE is not set, so it would be ignored'),
    ]);
    expect(mistakes({ LOCK_STORE: 'etcd', ETCD_ENDPOINTS: endpoints, LOCK_TTL_MS: '999' })).toEqual(
      [expect.stringContaining('Set it to 1000 or more')],
    );
  });

  it('refuse a lock store that does not fit the rest', () => {
    const database = 'postgres://u:p@h/d';
    expect(mistakes({ LOCK_STORE: 'redis' })).toEqual([expect.stringContaining('Set REDIS_URL')]);
    expect(mistakes({ DATABASE_URL: database })).toEqual([
      expect.stringContaining('say LOCK_STORE=memory'),
    ]);
    expect(mistakes({ DATABASE_URL: database, LOCK_STORE: 'memory' })).toEqual([]);
    expect(mistakes({ DATABASE_URL: database, REDIS_URL: 'redis://a' })).toEqual([]);
    expect(mistakes({ LOCK_STORE: 'memory', REDIS_SENTINELS: 'a:1' })).toEqual([
      expect.stringContaining('would be ignored'),
    ]);
    expect(mistakes({ REDIS_URL: 'redis://a', REDIS_SENTINELS: 'a:1' })).toEqual([
      expect.stringContaining('Empty one'),
    ]);
    expect(mistakes({ REDIS_SENTINELS: 'a:1', REDIS_CLUSTER_NODES: 'a:1' })).toEqual([
      expect.stringContaining('REDIS_SENTINELS and REDIS_CLUSTER_NODES are both set'),
    ]);
    expect(mistakes({ CHROMA_URL: 'http://a' })).toEqual([
      expect.stringContaining('CHROMA_URL is set, so other processes may share the data'),
    ]);
    expect(mistakes({ CHROMA_URL: 'http://a', LOCK_STORE: 'memory' })).toEqual([]);
    const chroma = { CHROMA_URL: 'http://a', REDIS_URL: 'redis://a' };
    expect(resolveConfig(chroma).chromaUrl).toBe('http://a');
  });

  it('take replica confirmation and Redlock, and say what does not fit', () => {
    const confirmed = { LOCK_STORE: 'redis-wait', REDIS_URL: 'redis://a' };
    expect(resolveConfig({ ...confirmed, REDIS_WAIT_REPLICAS: '2' })).toMatchObject({
      lock: { store: 'redis-wait' },
      redisWait: { replicas: 2, confirmTimeoutMs: 300 },
    });
    expect(resolveConfig(confirmed).redisWait.replicas).toBeUndefined();
    const wrong = (raw: Record<string, string>) => mistakes(raw).join();
    expect(wrong({ LOCK_STORE: 'redis-wait' })).toContain('Set REDIS_URL, or REDIS_SENTINELS');
    expect(wrong({ LOCK_STORE: 'redis-wait', REDIS_CLUSTER_NODES: 'a:1' })).toContain(
      'needs one primary',
    );
    expect(wrong({ ...confirmed, LOCK_TTL_MS: '900' })).toContain('a command has 300 ms');
    expect(wrong({ REDIS_WAIT_REPLICAS: '1' })).toContain('which asks no replica');

    const three = 'redis://a:1, redis://b:1,redis://user:secret@c:1';
    expect(resolveConfig({ LOCK_STORE: 'redlock', REDLOCK_URLS: three })).toMatchObject({
      lock: { store: 'redlock' },
      redlock: {
        urls: ['redis://a:1', 'redis://b:1', 'redis://user:secret@c:1'],
        maxClockSkewMs: 60_000,
      },
    });
    expect(wrong({ LOCK_STORE: 'redlock' })).toContain('Set REDLOCK_URLS');
    expect(wrong({ REDLOCK_URLS: three })).toContain('so it would be ignored');
    const two = 'redis://a:1,redis://a:1';
    expect(wrong({ LOCK_STORE: 'redlock', REDLOCK_URLS: two })).toMatch(/2 nodes.*node twice/);
    expect(wrong({ LOCK_STORE: 'redlock', REDLOCK_URLS: `${three},secret` })).toMatch(
      /^REDLOCK_URLS has a wrong value; it must be a list such as/,
    );
  });

  it('carry users, passwords and TLS in the addresses of Redis, in one form', () => {
    const nobody = { username: undefined, password: undefined, tls: false };
    const sentinels = 'rediss://watch:a%40b@s-1:1, rediss://watch:a%40b@s-2:2';
    expect(
      resolveConfig({ REDIS_SENTINELS: sentinels, REDIS_SENTINEL_NAME: 'redis://:p%2Fw@My.Main' })
        .redis,
    ).toEqual({
      kind: 'sentinel',
      sentinels: [
        { host: 's-1', port: 1 },
        { host: 's-2', port: 2 },
      ],
      sentinelAccess: { username: 'watch', password: 'a@b', tls: true },
      name: 'My.Main',
      access: { ...nobody, password: 'p/w' },
    });
    expect(resolveConfig({ REDIS_CLUSTER_NODES: 'rediss://a:1,rediss://b:2' }).redis).toMatchObject(
      { kind: 'cluster', access: { ...nobody, tls: true } },
    );
    expect(resolveConfig({ REDIS_SENTINELS: 'a:1' }).redis).toMatchObject({
      name: 'mymaster',
      sentinelAccess: nobody,
      access: nobody,
    });
    for (const one of ['redis://u:p@b:2', 'rediss://b:2', 'redis://:x@b:2']) {
      expect(mistakes({ REDIS_CLUSTER_NODES: `a:1,${one}` })).toEqual([
        expect.stringMatching(/^REDIS_CLUSTER_NODES .*Write the same in every entry\.$/),
      ]);
    }
    for (const one of ['a:1/2', 'redis://u:%zz@a:1', 'redis://u:%ff@a:1', 'a:1?db=2', 'a', ':1']) {
      expect(mistakes({ REDIS_CLUSTER_NODES: one })).toHaveLength(1);
    }
    for (const one of ['a b', 'redis://u:p@main:6379', 'redis://', 'u:p@main']) {
      expect(mistakes({ REDIS_SENTINELS: 'a:1', REDIS_SENTINEL_NAME: one })).toHaveLength(1);
    }
  });

  it('show etcd a client certificate only as a whole and over TLS', () => {
    const files = { ETCD_CERT_FILE: '/a.pem', ETCD_KEY_FILE: '/a.key' };
    const tls = { LOCK_STORE: 'etcd', ETCD_ENDPOINTS: 'https://a:1,https://b:2' };
    expect(resolveConfig({ ...tls, ...files }).etcd?.clientCertificate).toEqual({
      certFile: '/a.pem',
      keyFile: '/a.key',
    });
    expect(resolveConfig(tls).etcd?.clientCertificate).toBeNull();
    expect(mistakes({ ...tls, ETCD_KEY_FILE: '/a.key' })).toEqual([
      expect.stringContaining('only one is set'),
    ]);
    expect(mistakes({ ...tls, ...files, ETCD_ENDPOINTS: 'https://a:1,b:2' })).toEqual([
      expect.stringContaining('begin with https://'),
    ]);
  });
});
