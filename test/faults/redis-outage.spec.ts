import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.js';
import { eventually } from '../support/eventually.js';

describe('a service whose Redis is in trouble', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster(1, {
      LOCK_TTL_MS: '1500',
      LOCK_COMMAND_TIMEOUT_MS: '400',
      DEMO_STEP_DELAY_MS: '500',
    });
  });

  afterAll(() => cluster?.stop());

  const client = () => cluster.clients[0]!;
  const timed = async () => {
    const startedAt = performance.now();
    const answer = await client().process('doc');
    return { ...answer, tookMs: performance.now() - startedAt };
  };
  const worksAgain = () =>
    eventually(async () => (await client().process('doc')).status === 200, {
      what: 'processing to work again',
    });

  it('answers 503 while it is stopped, stays alive, and works again when it is back', async () => {
    await client().put('doc', 'A text in an outage.');
    await cluster.redis.kill();
    const { status, body, headers, tookMs } = await timed();
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'lock_unavailable' } });
    expect(headers.get('retry-after')).toBe('1');
    expect(tookMs).toBeLessThan(1_500);
    const [replica] = cluster.replicas;
    const ready = await client().send<{ checks: Record<string, { status: string }> }>(
      '/health/ready',
    );
    expect(ready).toMatchObject({ status: 503, body: { code: 'not_ready' } });
    expect(ready.body.checks).toMatchObject({
      locks: { status: 'down' },
      database: { status: 'up' },
    });
    expect((await replica!.fetch('/health/live')).status).toBe(200);
    expect(await client().get('doc')).toMatchObject({ state: 'uploaded' });
    await cluster.redis.restart();
    await worksAgain();
    await replica!.ready();
  });

  it('answers 503 while it is frozen, and leaves no lock that nobody holds', async () => {
    await cluster.redis.pause();
    const { status, tookMs } = await timed();
    expect(status).toBe(503);
    expect(tookMs).toBeLessThan(1_500);
    await cluster.redis.resume();
    await worksAgain();
    await eventually(async () => (await cluster.keys.exists('lock:doc:doc')) === 0);
  });

  it('stops work that it can no longer prove to be alone', async () => {
    await client().put('doc', 'A second text in an outage.');
    const request = timed();
    await eventually(async () => (await client().get('doc')).state === 'processing');
    await cluster.redis.pause();
    const { status, body, tookMs } = await request;
    // Undisturbed it takes 2.5 seconds at least; the lease ends 1.5 seconds after its last renewal.
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    expect(tookMs).toBeLessThan(2_500);
    await cluster.redis.resume();
    await worksAgain();
  });

  it('answers 503 on a server that has become a replica, and recovers', async () => {
    const other = await cluster.keys.call('REPLICAOF', '127.0.0.1', '1');
    expect(other).toBe('OK');
    const { status, body } = await timed();
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'lock_unavailable' } });
    await cluster.keys.call('REPLICAOF', 'NO', 'ONE');
    await worksAgain();
  });
});
