import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DocumentsClient } from '../support/documents-client.js';
import { startEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { startRedis } from '../support/redis.js';
import { ServiceProcess } from '../support/service-process.js';

let shared: { readonly DATA_DIR: string; readonly EMBED_WORKERS: string };

beforeEach(async () => {
  shared = { DATA_DIR: await mkdtemp(join(tmpdir(), 'stores-')), EMBED_WORKERS: '1' };
});

afterEach(() => rm(shared.DATA_DIR, { recursive: true, force: true }));

/** Starts the service on the common database, has a new version of a document processed, and ends it. */
async function processedWith(settings: Readonly<Record<string, string>>): Promise<bigint> {
  await using service = await ServiceProcess.start({ ...shared, ...settings });
  const client = new DocumentsClient(service);
  const [id, text] = ['a', `Written at ${performance.now()}.`];
  expect((await client.put(id, text)).status).toBeLessThan(300);
  expect(await client.process(id, { headers: { 'idempotency-key': randomUUID() } })).toMatchObject({
    status: 200,
    body: { unchanged: false },
  });
  expect(await client.passages(id, 'Written')).toEqual([text]);
  return BigInt((await client.get(id)).fence);
}

describe('the service on a database that another lock store’s fences have written', () => {
  it('does not start with lower ones, says what to set, and works with that; and with the first store again', async () => {
    const redis = await startRedis();
    const etcd = await startEtcd();
    try {
      const inEtcd = { LOCK_STORE: 'etcd', ETCD_ENDPOINTS: etcd.endpoints.join() };
      const first = await processedWith({ REDIS_URL: redis.url });

      const refused = await ServiceProcess.spawn({ ...shared, ...inEtcd });
      expect(await refused.exited).toEqual({ code: 1, signal: null });
      const said = /changed to "etcd".*set fenceBase \(LOCK_FENCE_BASE\) to (\d+)\./;
      const [, base = ''] = said.exec(refused.output) ?? [];
      expect({ base, output: refused.output }).toMatchObject({ base: expect.stringMatching(/\d/) });
      expect(await etcd.ctl('get', '--prefix', 'lock:', '--keys-only')).toBe('');

      const second = await processedWith({ ...inEtcd, LOCK_FENCE_BASE: base });
      expect(second).toBeGreaterThan(first);
      expect(second - first).toBeLessThan(1_000_000_000n); // revisions, and not microseconds
      expect(await processedWith({ REDIS_URL: redis.url })).toBeGreaterThan(second);
    } finally {
      await Promise.all([redis.stop(), etcd.stop()]);
    }
  }, 180_000);

  it('starts with a Redis that has lost everything and has the right time', async () => {
    const redis = await startRedis();
    try {
      const first = await processedWith({ REDIS_URL: redis.url });
      await redis.kill();
      await redis.restart();
      expect(await processedWith({ REDIS_URL: redis.url })).toBeGreaterThan(first);
    } finally {
      await redis.stop();
    }
  }, 120_000);

  it('starts while its store is away, grants nothing when that comes with lower fences, and says why', async () => {
    await processedWith({ LOCK_STORE: 'memory' });
    const etcd = await startEtcd();
    try {
      const [member] = etcd.members;
      await member?.server.end('SIGKILL');
      await using service = await ServiceProcess.spawn({
        ...shared,
        LOCK_STORE: 'etcd',
        ETCD_ENDPOINTS: etcd.endpoints.join(),
      });
      const client = new DocumentsClient(service);
      const what = () => `the service to answer; it said:\n${service.output}`;
      await eventually(async () => (await service.fetch('/health/live')).ok, {
        timeoutMs: 45_000,
        what,
      });
      expect((await client.process('a')).status).toBe(503);

      await member?.server.spawn();
      await member?.server.ready();
      await eventually(
        async () => {
          expect((await client.process('a')).status).toBe(503);
          return service.output.includes('set fenceBase (LOCK_FENCE_BASE) to');
        },
        { timeoutMs: 30_000, everyMs: 100, what },
      );
      const { status, body } = await client.send<{ checks: object }>('/health/ready');
      expect(status).toBe(503);
      expect(body.checks).toMatchObject({ locks: { status: 'down' } });
      expect(service.output).toMatch(/Not ready: locks \(.*LOCK_FENCE_BASE/);
      const keys = () => etcd.ctl('get', '--prefix', 'lock:doc:', '--keys-only');
      await eventually(async () => (await keys()) === '', { what: 'no lock to be left' });
    } finally {
      await etcd.stop();
    }
  }, 180_000);
});
