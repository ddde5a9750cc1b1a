import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { Engine } from './engine.js';
import { ensureImages } from './images.js';
import { lateWrite } from './late-write.js';
import { Load } from './load.js';
import { type Container, Stack } from './stack.js';
import { ranTicks, repeated } from './ticks.js';

const ttlMs = 3_000;
const minutes = 60_000;

const say = (text: string) => process.stderr.write(`${text}\n`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

const engine = await Engine.start();
if (typeof engine === 'string') say(`The compose stack is not tested: ${engine}`);
const describeHere = typeof engine === 'string' ? describe.skip : describe;

const numbered = (prefix: string, suffix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}${suffix}`).join();

/** What the compose file's comments say to set with each of its profiles. */
const profiles = {
  sentinel: { REDIS_URL: '', REDIS_SENTINELS: numbered('sentinel-', ':26379', 3) },
  cluster: { REDIS_URL: '', REDIS_CLUSTER_NODES: numbered('redis-node-', ':6379', 3) },
  redlock: { LOCK_STORE: 'redlock', REDLOCK_URLS: numbered('redis://redlock-', ':6379', 5) },
  etcd: { LOCK_STORE: 'etcd', ETCD_ENDPOINTS: numbered('http://etcd-', ':2379', 3) },
};

beforeAll(async () => {
  if (typeof engine === 'string') return;
  const startedAt = performance.now();
  const made = await ensureImages(engine, Object.keys(profiles));
  if (made.length > 0)
    say(`No image registry: made ${made.join(', ')} of this machine's packages.`);
  say(`Images ready after ${seconds(performance.now() - startedAt)}.`);
}, 15 * minutes);

afterAll(async () => {
  if (typeof engine !== 'string') await engine.stop();
}, 3 * minutes);

describeHere('the compose stack', () => {
  let stack: Stack;
  let documents: DocumentsClient;

  beforeAll(async () => {
    if (typeof engine === 'string') return;
    const startedAt = performance.now();
    stack = await Stack.up(engine, 3, {
      LOCK_TTL_MS: String(ttlMs),
      DEMO_STEP_DELAY_MS: '300',
      EMBED_WORKERS: '1',
      RATE_LIMIT_PER_MINUTE: '0',
      ARCHIVE_CRON: '*/2 * * * * *',
    });
    documents = new DocumentsClient(stack);
    say(`Built and healthy after ${seconds(performance.now() - startedAt)}.`);
  }, 10 * minutes);

  afterAll(() => stack?.down(), 3 * minutes);

  const processing = (id: string) =>
    eventually(async () => {
      const document = await documents.get(id);
      return document.state === 'processing' && document;
    });

  /** Starts processing; resolves with the fence and the container of the replica that works. */
  const startProcessing = async (id: string): Promise<{ fence: string; holder: Container }> => {
    await documents.put(id, `The text of ${id}.`);
    expect(await documents.start(id)).toMatchObject({ status: 202 });
    const { fence, replica } = await processing(id);
    return { fence, holder: await stack.replica(replica!) };
  };

  /** Looks until another replica works on the document; resolves with how long that took since the holder failed. */
  const takeOver = async (id: string, fence: string, sinceMs: number): Promise<number> => {
    await eventually(async () => BigInt((await documents.get(id)).fence) > BigInt(fence), {
      timeoutMs: ttlMs + 10_000,
      everyMs: 50,
      what: `document ${id} to be taken over`,
    });
    return performance.now() - sinceMs;
  };

  const ready = (id: string) =>
    eventually(async () => (await documents.get(id)).state === 'ready', { timeoutMs: 30_000 });

  it('publishes one port, on loopback, and gives the replicas nothing they do not need', async () => {
    const published: string[] = [];
    for (const service of ['front', 'app', 'redis', 'postgres', 'chroma']) {
      for (const { id } of await stack.containers(service)) {
        const ports = await stack.inspect(id, '{{json .HostConfig.PortBindings}}');
        for (const [port, hosts] of Object.entries(JSON.parse(ports) ?? {})) {
          published.push(`${service} ${port} ${(hosts as { HostIp: string }[])[0]!.HostIp}`);
        }
        const hardened =
          '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}';
        expect(await stack.inspect(id, hardened)).toMatch(/^true \[ALL\] \[no-new-privileges/);
      }
    }
    expect(published).toEqual(['front 8080/tcp 127.0.0.1']);
    const [replica] = await stack.containers('app');
    expect(await stack.exec(replica!.id, 'id', '-u')).toBe('1000');
    await expect(stack.exec(replica!.id, 'touch', '/app/x')).rejects.toThrow('Read-only');
    expect(await stack.inspect(replica!.id, '{{json .Config.Cmd}}')).toBe(
      '["node","--enable-source-maps","dist/main.js"]',
    );
  });

  it('runs a Redis that forgets no lock, also when it is killed and comes back', async () => {
    const [redis] = await stack.containers('redis');
    const cli = (...command: string[]) => stack.exec(redis!.id, 'redis-cli', ...command);
    expect(await cli('config', 'get', 'appendonly')).toMatch(/yes$/);
    expect(await cli('config', 'get', 'maxmemory-policy')).toMatch(/noeviction$/);
    await cli('set', 'lock:doc:kept', 'somebody else', 'px', '60000');
    await eventually(async () =>
      (await cli('info', 'persistence')).includes('aof_pending_bio_fsync:0'),
    );
    await stack.act(redis!.id, 'kill');
    await stack.act(redis!.id, 'start');
    await stack.healthy('redis');
    expect(Number(await cli('pttl', 'lock:doc:kept'))).toBeGreaterThan(0);
    await stack.served(3);
  }, 60_000);

  it('still reads while Redis is away, and says what it cannot do', async () => {
    await documents.put('read', 'A text to read.');
    const [redis] = await stack.containers('redis');
    await stack.act(redis!.id, 'stop');
    await stack.served(0);
    expect(await documents.get('read')).toMatchObject({ id: 'read', state: 'uploaded' });
    const refused = await documents.process('read');
    expect(refused).toMatchObject({ status: 503, body: { code: 'lock_unavailable' } });
    await stack.act(redis!.id, 'start');
    await stack.served(3);
    expect(await documents.process('read')).toMatchObject({ status: 200 });
  }, 60_000);

  it('lets one of ten requests through the front work, spread over three replicas', async () => {
    await documents.put('ten', 'The text of ten requests.');
    const answers = await Promise.all(Array.from({ length: 10 }, () => documents.process('ten')));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 423)]);
    const served = new Set(answers.map(({ headers }) => headers.get('x-served-by')));
    expect(served.size).toBe(3);
    expect(await documents.passages('ten', 'requests')).toEqual(['The text of ten requests.']);
  });

  it('archives once a tick', async () => {
    const before = (await ranTicks(stack)).length;
    const ticks = await eventually(
      async () => {
        const fresh = (await ranTicks(stack)).slice(0, -before || undefined);
        return fresh.length >= 4 && fresh;
      },
      { timeoutMs: 30_000, everyMs: 200, what: 'four ticks' },
    );
    expect(repeated(ticks)).toEqual([]);
    const instants = ticks.map(({ scheduledAt }) => Date.parse(scheduledAt));
    const due = (Math.max(...instants) - Math.min(...instants)) / 2_000 + 1;
    expect(due - ticks.length).toBeLessThanOrEqual(1); // on a busy machine a timer may be too late
  }, 40_000);

  it('hands the document of a killed replica to another one when its lease is over', async () => {
    const { fence, holder } = await startProcessing('killed');
    const failedAt = performance.now();
    await stack.act(holder.id, 'kill');
    const ms = await takeOver('killed', fence, failedAt);
    say(`Killed: taken over ${seconds(ms)} later (TTL ${seconds(ttlMs)}).`);
    expect(ms).toBeLessThan(ttlMs + 2_000);
    await ready('killed');
    const after = await documents.get('killed');
    expect(BigInt(after.fence)).toBeGreaterThan(BigInt(fence));
    expect(after.replica!.slice(0, 12)).not.toBe(holder.id.slice(0, 12));
    await stack.act(holder.id, 'start');
    await stack.healthy('app');
    await stack.served(3);
  }, 90_000);

  it('refuses what a replica writes that was paused for longer than its lease', async () => {
    const { fence, holder } = await startProcessing('paused');
    const failedAt = performance.now();
    await stack.act(holder.id, 'pause');
    await stack.served(2); // a request that the front still sent to the paused one would wait for it
    const ms = await takeOver('paused', fence, failedAt);
    say(`Paused: taken over ${seconds(ms)} later (TTL ${seconds(ttlMs)}).`);
    await ready('paused');
    const after = await documents.get('paused');
    await stack.act(holder.id, 'unpause');
    await eventually(
      async () =>
        (await stack.logs(holder.id)).includes(
          'Processing document paused in the background failed',
        ),
      { what: 'the paused replica to give up' },
    );
    const outcome = await stack.exec(holder.id, ...lateWrite('paused', fence));
    expect(outcome).toBe('lease_lost');
    expect(await documents.get('paused')).toEqual(after);
    expect(BigInt(after.fence)).toBeGreaterThan(BigInt(fence));
    expect(await documents.passages('paused', 'text')).toEqual(['The text of paused.']);
    await stack.healthy('app');
    await stack.served(3);
  }, 90_000);

  it(
    'answers every request during a rolling restart',
    async () => {
      const load = new Load(stack, 6);
      const startedAt = performance.now();
      for (const { id } of await stack.containers('app')) {
        await stack.act(id, 'restart', '--time', '45');
        await stack.healthy('app');
        await stack.served(3);
      }
      const { statuses, failures, servedBy } = await load.stop();
      say(
        `Rolling restart of three replicas: ${seconds(performance.now() - startedAt)}, answers ${JSON.stringify(statuses)}.`,
      );
      expect(failures).toEqual([]);
      expect(statuses[200]).toBeGreaterThan(50);
      expect(servedBy.size).toBe(6);
      for (const { id } of await stack.containers('app')) {
        expect(await stack.inspect(id, '{{.State.OOMKilled}} {{.RestartCount}}')).toBe('false 0');
      }
    },
    5 * minutes,
  );

  it('has archived no tick twice in all of this', async () => {
    const ticks = await ranTicks(stack);
    say(
      `${ticks.length} ticks of the archiver, by ${new Set(ticks.map(({ replica }) => replica)).size} replicas.`,
    );
    expect(repeated(ticks)).toEqual([]);
  });
});

describeHere('the compose stack with its profile', () => {
  it.each(Object.entries(profiles))(
    '%s: a document is processed by one at a time',
    async (profile, settings) => {
      if (typeof engine === 'string') return;
      const slow = { EMBED_WORKERS: '1', DEMO_STEP_DELAY_MS: '300' };
      const stack = await Stack.up(engine, 2, { ...slow, ...settings }, profile);
      try {
        const documents = new DocumentsClient(stack);
        await documents.put('one', 'The text of one.');
        expect(await documents.start('one')).toMatchObject({ status: 202 });
        await eventually(async () => (await documents.get('one')).state === 'processing');
        expect(await documents.process('one')).toMatchObject({
          status: 423,
          body: { code: 'lock_busy' },
        });
        await eventually(async () => (await documents.get('one')).state === 'ready', {
          timeoutMs: 30_000,
        });
        expect(BigInt((await documents.get('one')).fence)).toBeGreaterThan(0n);
      } catch (error) {
        say(await stack.allLogs());
        throw error;
      } finally {
        await stack.down();
      }
    },
    10 * minutes,
  );
});
