import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster } from '../support/cluster.js';
import { eventually } from '../support/eventually.js';

const ttlMs = 1_500;

describe('a lease that ends under its holder', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster(2, { LOCK_TTL_MS: String(ttlMs), DEMO_STEP_DELAY_MS: '300' });
  });

  afterAll(() => cluster?.stop());

  const client = (index: number) => cluster.clients[index]!;
  const begun = (id: string) =>
    eventually(async () => (await client(1).get(id)).state === 'processing', {
      what: `the processing of ${id} to begin`,
    });

  it('stops the work when the key is deleted, publishes nothing, and says so', async () => {
    await client(0).put('deleted', 'A text whose key vanishes.');
    const request = client(0).process('deleted');
    await begun('deleted');
    await cluster.keys.del('lock:doc:deleted');
    const { status, headers, body } = await request;
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    expect(headers.get('retry-after')).toBe('1');
    expect(await client(1).get('deleted')).toMatchObject({ state: 'interrupted', chunks: null });
    expect(await client(1).passages('deleted', 'text')).toEqual([]);
    expect(await client(1).process('deleted')).toMatchObject({ status: 200 });
    expect(await client(0).passages('deleted', 'text')).toEqual(['A text whose key vanishes.']);
  });

  it('gives way to a foreign holder, and does not touch its key', async () => {
    await client(0).put('stolen', 'A text whose lock is taken.');
    const request = client(0).process('stolen');
    await begun('stolen');
    await cluster.keys.set('lock:doc:stolen', 'somebody-else', 'EX', 30);
    expect(await request).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    expect(await cluster.keys.get('lock:doc:stolen')).toBe('somebody-else');
    const busy = await client(1).process('stolen');
    expect(busy.status).toBe(423);
    expect(JSON.stringify(busy.body)).not.toContain('somebody-else');
    await cluster.keys.del('lock:doc:stolen');
    expect(await client(1).process('stolen')).toMatchObject({ status: 200 });
  });

  it('refuses whatever a holder writes after it was frozen for longer than its lease', async () => {
    await client(1).put('frozen', 'The text of the first holder.');
    const late = client(0).process('frozen');
    await begun('frozen');
    cluster.replicas[0]!.pause();
    await eventually(async () => (await client(1).get('frozen')).state === 'interrupted');
    expect(await client(1).put('frozen', 'The text of the second holder.')).toMatchObject({
      status: 200,
    });
    const second = await client(1).process('frozen');
    expect(second.status).toBe(200);
    cluster.replicas[0]!.resume();
    expect(await late).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    const document = await client(1).get('frozen');
    expect(document).toMatchObject({ state: 'ready', fence: second.body['fence'] });
    expect(await client(0).passages('frozen', 'text')).toEqual(['The text of the second holder.']);
    await cluster.replicas[0]!.ready();
  });
});
