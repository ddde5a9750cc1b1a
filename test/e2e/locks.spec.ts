import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedis } from '../support/redis.js';

describe('looking after locks over HTTP', () => {
  let redis: RedisServer;
  let keys: Redis;
  let test: TestApp;

  beforeAll(async () => {
    redis = await startRedis();
    keys = new Redis(redis.url);
    test = await startApp({
      REDIS_URL: redis.url,
      INSTANCE_ID: 'replica-1',
      DEMO_STEP_DELAY_MS: '60000',
    });
  });

  afterAll(async () => {
    await test?.close();
    keys?.disconnect();
    await redis?.stop();
  });

  const api = () => request(test.url);

  it('shows who holds a lock, never its token or fence, and takes it away', async () => {
    await api().put('/documents/1001').send({ title: 'A', text: 'A text.' }).expect(201);
    const work = api()
      .post('/documents/1001/process')
      .then((answer) => answer);
    const lock = await eventually(
      async () => {
        const answer = await api().get('/locks/doc:1001');
        return answer.status === 200 && answer;
      },
      { what: 'the lock to be held' },
    );
    expect(lock.body).toEqual({
      name: 'doc:1001',
      holder: { process: expect.any(String), label: 'replica-1' },
      since: expect.stringMatching(/^\d{4}-.*Z$/),
      heldForMs: expect.any(Number),
      remainingMs: expect.any(Number),
      queued: 0,
      revoked: false,
    });
    const { body: list } = await api().get('/locks').expect(200);
    expect(list).toMatchObject({ items: [{ name: 'doc:1001' }], isTruncated: false });

    const revoked = await api().delete('/locks/doc:1001').expect(200);
    expect(revoked.body).toEqual({ name: 'doc:1001', outcome: 'revoked' });
    expect(await work).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    await eventually(async () => (await api().get('/locks/doc:1001')).status === 404);
    const gone = await api().delete('/locks/doc:1001');
    expect(gone).toMatchObject({ status: 404, body: { code: 'lock_not_found' } });
  });

  it('leaves a foreign client’s lock alone unless forced', async () => {
    await keys.set('lock:doc:x', 'a-foreign-token', 'PX', 60_000);
    const shown = await api().get('/locks/doc:x').expect(200);
    expect(shown.body).toMatchObject({ holder: null, revoked: false });
    expect(shown.text).not.toContain('a-foreign-token');
    const refused = await api().delete('/locks/doc:x');
    expect(refused).toMatchObject({ status: 409, body: { code: 'lock_foreign' } });
    expect(await keys.get('lock:doc:x')).toBe('a-foreign-token');
    const forced = await api().delete('/locks/doc:x?force=true').expect(200);
    expect(forced.body).toMatchObject({ outcome: 'deleted' });
    expect(await keys.exists('lock:doc:x')).toBe(0);
  });

  it('takes a lock of ours that never expires away with force, once it was revoked', async () => {
    await keys.set('lock:doc:p', 'dHJ5MjAxMjM0NTY3ODkw.cHJvY2Vzcw.replica-9');
    const revoke = async (query: string) => (await api().delete(`/locks/doc:p${query}`)).body;
    expect(await revoke('?force=true')).toMatchObject({ outcome: 'revoked' });
    expect(await revoke('')).toMatchObject({ outcome: 'revoked' });
    const shown = await api().get('/locks/doc:p').expect(200);
    expect(shown.body).toMatchObject({ revoked: true, remainingMs: null });
    expect(await revoke('?force=true')).toMatchObject({ outcome: 'deleted' });
    expect(await keys.exists('lock:doc:p')).toBe(0);
  });

  it('finds names by their escaped form, and lists no more than it is asked for', async () => {
    const name = 'doc:a%3Ab%20c';
    for (const each of [name, 'doc:y', 'doc:z']) await keys.set(`lock:${each}`, 't', 'PX', 60_000);
    const found = await api().get(`/locks/${encodeURIComponent(name)}`);
    expect(found).toMatchObject({ status: 200, body: { name } });
    const { body } = await api().get('/locks?limit=2').expect(200);
    expect(body).toMatchObject({ items: [{}, {}], isTruncated: true });
    for (const bad of ['doc:%7Bx', 'doc:%0A', 'doc:%25zz']) {
      expect((await api().get(`/locks/${bad}`)).status).toBe(400);
    }
    await keys.flushall();
  });
});
