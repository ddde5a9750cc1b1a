import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Env } from './env.dto.js';
import { resolveConfig } from './resolve-config.js';
import { mistakes } from './resolve-config.spec-support.js';

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
      'LOCK_STORE is "consul"; it must be "memory" or "redis" or "redis-wait" or "redlock" or "etcd" or "zookeeper" or "postgres".',
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
    ['ARCHIVE_CRON', '0 0 0 30 2 *'],
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

  it.each([
    ['REDIS_URL', 'redis://:sec%zzret@host', 'percent-encoded'],
    ['REDIS_URL', 'redis://:secret@host:6379/abc', 'the number of a database'],
    ['REDLOCK_URLS', 'redis://a,redis://:sec%zzret@b,redis://c', 'percent-encoded'],
    ['REDLOCK_URLS', 'redis://a,redis://b/secret,redis://c', 'the number of a database'],
    ['CHROMA_URL', 'http://:sec%zzret@host:8000', 'percent-encoded'],
    ['CHROMA_URL', 'http://host:8000?token=secret', 'without "?" and "#"'],
    ['CHROMA_URL', 'http://host:8000/#secret', 'without "?" and "#"'],
    ['LLM_BASE_URL', 'https://user:secret@host/v1', 'without user and password'],
    ['LLM_BASE_URL', 'https://host/v1?key=secret', 'without "?" and "#"'],
    ['LLM_BASE_URL', 'https://host/v1#secret', 'without "?" and "#"'],
  ])('refuse %s=%s, which could never work, and repeat nothing of it', (name, value, expected) => {
    const [mistake = ''] = mistakes({ [name]: value });
    expect(mistake).toContain(`${name} has a wrong value; it must be `);
    expect(mistake).toContain(expected);
    expect(mistake).not.toMatch(/sec/);
  });

  it.each([
    ['REDIS_URL', 'redis://'],
    ['REDIS_URL', 'rediss://user:p%40ss@host:6379/15'],
    ['CHROMA_URL', 'https://me:p%40ss@host/vectors/'],
    ['LLM_BASE_URL', 'http://[::1]:8080/openai/v1/'],
    ['ARCHIVE_CRON', '0 0 0 29 2 *'],
  ])('take %s=%s', (name, value) => {
    expect(
      mistakes({ [name]: value, LOCK_STORE: name === 'REDIS_URL' ? 'redis' : 'memory' }),
    ).toEqual([]);
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
});
