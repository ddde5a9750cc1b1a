import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ConfigError } from './config.errors.js';
import { Env } from './env.dto.js';
import { resolveConfig } from './resolve-config.js';

function mistakes(raw: Record<string, string>): readonly string[] {
  try {
    resolveConfig(raw);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe('the settings', () => {
  it('have working defaults, and come frozen', () => {
    const config = resolveConfig({});
    expect(config).toMatchObject({
      http: {
        host: '127.0.0.1',
        port: 3000,
        uploadLimitBytes: 20_971_520,
        shutdownGraceMs: 30_000,
        shutdownDelayMs: 0,
        trustProxy: [],
        rateLimitPerMinute: 0,
      },
      dataDir: resolve('data'),
      databaseUrl: null,
      chromaUrl: null,
      redis: null,
      lock: {
        store: 'memory',
        prefix: 'lock:',
        fenceBase: 0,
        ttlMs: 30_000,
        waitMs: 0,
        maxHoldMs: 600_000,
        commandTimeoutMs: 1_000,
      },
      documents: { chunkSize: 500, chunkOverlap: 50, stepDelayMs: 0 },
      archive: { cron: '0 0 3 * * *', timeZone: 'UTC', afterDays: 30 },
      logFormat: 'pretty',
    });
    expect(config.documents.embedWorkers).toBeGreaterThanOrEqual(1);
    expect(config.documents.embedWorkers).toBeLessThanOrEqual(4);
    expect(config.instanceId).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{6}$/);
    expect(resolveConfig({}).instanceId).not.toBe(config.instanceId);
    expect(Object.isFrozen(config.lock)).toBe(true);
  });

  it('are the same, with the same defaults, in .env.example', () => {
    const example = parseEnv(readFileSync('.env.example', 'utf8'));
    const known = Object.entries(new Env()).map(([name, value]) => [name, String(value ?? '')]);
    expect(example).toEqual(Object.fromEntries(known));
  });

  it('let nobody else reach a service that anybody may write to, unless that is said', () => {
    const token = 'a-token-of-20-letters';
    for (const HOST of ['0.0.0.0', '::', '10.1.2.3', 'doclock.example']) {
      const [mistake = '', ...more] = mistakes({ HOST, ADMIN_TOKEN: token });
      expect(more).toEqual([]);
      expect(mistake).toContain(`HOST is "${HOST}"`);
      expect(mistake).toContain('Set API_TOKENS');
      expect(mistakes({ HOST, API_OPEN: 'true' })).toEqual([]);
      expect(mistakes({ HOST, API_TOKENS: token })).toEqual([]);
    }
    for (const HOST of ['localhost', '127.0.0.1', '127.8.8.8', '::1']) {
      expect(mistakes({ HOST })).toEqual([]);
    }
  });

  it('keep digests of tokens, and no token, also in what they say of mistakes', () => {
    const { access, http } = resolveConfig({
      HOST: '::',
      API_TOKENS: 'first-token-of-mine , second-token-of-mine',
      ADMIN_TOKEN: 'admin-token-of-mine',
    });
    expect(access.apiTokens).toHaveLength(2);
    expect(JSON.stringify(access)).not.toContain('token-of-mine');
    expect(access.adminToken).toMatch(/^[0-9a-f]{64}$/);
    expect(http).toMatchObject({ isLoopback: false, rateLimitPerMinute: 1_200 });
    const wrong: Record<string, string>[] = [
      { API_TOKENS: 'long-enough-to-be-one,short' },
      { ADMIN_TOKEN: 'short' },
      { API_TOKENS: 'twice-the-same-token', ADMIN_TOKEN: 'twice-the-same-token' },
    ];
    for (const raw of wrong) {
      const said = mistakes(raw);
      expect(said).toHaveLength(1);
      expect(said[0]).not.toMatch(/short|twice-the/);
    }
  });

  it.each([
    ['loopback, 10.0.0.0/8,2001:db8::/32 , ::1', true],
    ['everybody', false],
    ['10.0.0.0/33', false],
    ['10.0.0.1,', false],
    ['10.0.0.0/8/8', false],
  ])('know what a proxy may be: %s', (TRUST_PROXY, isRight) => {
    expect(mistakes({ TRUST_PROXY })).toHaveLength(isRight ? 0 : 1);
  });

  it('count as not set when empty', () => {
    expect(resolveConfig({ PORT: '', REDIS_URL: ' ', LOCK_STORE: '' })).toMatchObject({
      http: { port: 3000 },
      redis: null,
      lock: { store: 'memory' },
    });
  });

  it('tell every mistake at once, each with the setting and what it must be', () => {
    expect(
      mistakes({
        PORT: 'abc',
        LOCK_TTL_MS: '99',
        LOCK_STORE: 'consul',
        CHUNK_SIZE: '100',
        CHUNK_OVERLAP: '100',
      }),
    ).toEqual([
      'PORT is "abc"; it must be a whole number from 0 to 65535.',
      'LOCK_STORE is "consul"; it must be "memory" or "redis" or "redis-wait" or "redlock" or "etcd" or "zookeeper".',
      'LOCK_TTL_MS is "99"; it must be a whole number from 100 to 86400000.',
      expect.stringContaining('CHUNK_OVERLAP is 100, but it must be less than CHUNK_SIZE (100)'),
    ]);
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['HOST', 'a b'],
    ['INSTANCE_ID', 'a\r\nb'],
    ['INSTANCE_ID', '-a'],
    ['LOCK_PREFIX', '{a}'],
    ['LOCK_WAIT_MS', '2147483648'],
    ['LOCK_WAIT_MS', 'Infinity'],
    ['LOCK_COMMAND_TIMEOUT_MS', '0'],
    ['EMBED_WORKERS', '0'],
    ['UPLOAD_LIMIT_MB', '-1'],
    ['SHUTDOWN_GRACE_MS', 'soon'],
    ['LOG_FORMAT', 'xml'],
    ['ARCHIVE_CRON', '0 0 25 * * *'],
    ['ARCHIVE_CRON', 'nightly'],
    ['ARCHIVE_TZ', 'Europe/Atlantis'],
    ['ARCHIVE_AFTER_DAYS', '-1'],
    ['REDIS_SENTINELS', 'a'],
    ['REDIS_CLUSTER_NODES', 'a:1;b:2'],
    ['ETCD_ENDPOINTS', 'etcd-1'],
    ['REDIS_WAIT_REPLICAS', '0'],
    ['REDIS_WAIT_TIMEOUT_MS', '0'],
    ['REDLOCK_MAX_CLOCK_SKEW_MS', '-1'],
    ['ZOOKEEPER_SERVERS', 'zk-1:2181/chroot'],
  ])('refuse %s=%j', (name, value) => {
    expect(mistakes({ [name]: value })[0]).toContain(
      `${name} is ${JSON.stringify(value)}; it must`,
    );
  });

  it.each([
    'DATABASE_URL',
    'REDIS_URL',
    'CHROMA_URL',
    'REDIS_SENTINELS',
    'REDIS_SENTINEL_NAME',
    'REDIS_CLUSTER_NODES',
    'ETCD_ENDPOINTS',
  ])('do not print %s, which may hold a password', (name) => {
    for (const value of ['ftp://user:secret@host:1', 'ftp://:secret', 'user:secret@host:1']) {
      const [mistake = ''] = mistakes({ [name]: value });
      expect(mistake).toContain(`${name} has a wrong value; it must be `);
      expect(mistake).not.toContain('secret');
    }
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

  it('describe a language model, and say what is missing, with no key in it', () => {
    expect(resolveConfig({}).llm).toBeNull();
    const keys = { LLM_API_KEYS: 'sk-secret-1, sk-secret-2', LLM_CHAT_MODEL: 'small' };
    expect(resolveConfig(keys).llm).toMatchObject({
      apiKeys: ['sk-secret-1', 'sk-secret-2'],
      chatModel: 'small',
      embed: null,
      keyConcurrency: 1,
      requestsPerMinute: null,
      waitMs: 10_000,
    });
    const embedding = { EMBEDDER: 'llm', LLM_EMBED_MODEL: 'v', LLM_EMBED_DIMENSIONS: '8' };
    expect(resolveConfig({ ...keys, ...embedding }).llm?.embed).toEqual({
      model: 'v',
      dimensions: 8,
    });
    for (const [raw, expected] of [
      [{ ...keys, LLM_API_KEYS: 'sk-secret-1,sk-secret-1' }, 'names a key twice'],
      [{ ...keys, LLM_API_KEYS: 'sk-secret 1' }, 'LLM_API_KEYS has a wrong value; it must be keys'],
      [{ LLM_API_KEYS: 'sk-secret-1' }, 'nothing would use it'],
      [{ LLM_CHAT_MODEL: 'small' }, 'without LLM_API_KEYS'],
      [{ ...keys, EMBEDDER: 'llm' }, 'needs LLM_EMBED_MODEL and LLM_EMBED_DIMENSIONS'],
    ] as const) {
      const said = mistakes(raw);
      expect(said[0]).toContain(expected);
      expect(said.join()).not.toContain('secret');
    }
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
});
