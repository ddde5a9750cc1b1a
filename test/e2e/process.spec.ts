import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { startRedis } from '../support/redis.js';
import { ServiceProcess } from '../support/service-process.js';

describe('the process', () => {
  let dataDir: string;
  let first: ServiceProcess;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'process-'));
    first = await ServiceProcess.start({
      INSTANCE_ID: 'me',
      DATA_DIR: dataDir,
      DEMO_STEP_DELAY_MS: '2000',
      SHUTDOWN_GRACE_MS: '300',
    });
  });

  afterAll(async () => {
    await first?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const refusal = async (env: Record<string, string>, dotenv?: string) => {
    await using service = await ServiceProcess.spawn(env, dotenv);
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.output).toContain('The service did not start: ');
    expect(service.output).not.toMatch(/^\s+at /m);
    return service.output;
  };

  it('says where locks live, and names itself', async () => {
    expect(first.output).toContain('Locks live in this process only');
    expect(first.output).toContain('listens on this machine only (127.0.0.1)');
    const alive = await first.fetch('/health/live');
    expect(alive.headers.get('x-served-by')).toBe('me');
  });

  it('refuses wrong settings, all mistakes at once, and reads .env below the environment', async () => {
    const dotenv = 'CHUNK_OVERLAP=600\nLOCK_STORE=redis\n';
    const output = await refusal({ LOCK_STORE: 'consul', HOST: '0.0.0.0' }, dotenv);
    expect(output).toContain('HOST is "0.0.0.0", so other machines reach the service');
    expect(output).toContain('LOCK_STORE is "consul"; it must be');
    expect(output).toContain('CHUNK_OVERLAP is 600');
  });

  it('refuses names that are near a setting, in the environment and in .env, and lines that are none', async () => {
    const [misspelt, broken] = await Promise.all([
      refusal({ LOCK_TTL: '5000' }, 'API_TOKEN=abcdefghijklmnopqrstuvwx\nCOMPOSE_PROJECT_NAME=x\n'),
      refusal({}, 'PORT 25050\n'),
    ]);
    expect(misspelt).toContain('The settings hold 2 mistakes');
    expect(misspelt).toContain('did you mean LOCK_TTL_MS?');
    expect(misspelt).toContain('did you mean API_TOKENS?');
    expect(misspelt).not.toContain('abcdefghijklmnopqrstuvwx');
    expect(broken).toContain('Line 1 of .env is no setting.');
  });

  it('prints its version and its usage when asked to, and takes no other argument', async () => {
    const run = (argument: string) =>
      spawnSync(process.execPath, ['dist/main.js', argument], {
        encoding: 'utf8',
        timeout: 20_000,
      });
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    expect(run('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('.env.example'),
    });
    expect(run('--port')).toMatchObject({ status: 2, stderr: expect.stringContaining('"--port"') });
  });

  it('refuses a data folder whose locks live in another process', async () => {
    const folder = { DATA_DIR: dataDir };
    const [alone, shared] = await Promise.all([
      refusal(folder),
      refusal({ ...folder, REDIS_URL: 'redis://127.0.0.1:1' }),
    ]);
    expect(alone).toContain('instance.lock is held by another process');
    expect(shared).toContain('instance.lock is held exclusively by another process');
  });

  it('refuses a port that is taken, and a database that is not there', async () => {
    const { port: taken } = new URL(first.url);
    const [port, host, database] = await Promise.all([
      refusal({ PORT: taken }),
      refusal({ HOST: '192.0.2.1', API_OPEN: 'true' }),
      refusal({ DATABASE_URL: 'postgres://127.0.0.1:1/none', LOCK_STORE: 'memory' }),
    ]);
    expect(port).toContain(
      `The service did not start: Port ${taken} of 127.0.0.1 is taken by another process (EADDRINUSE). End that one, or set PORT to another number; 0 lets the system choose.\n`,
    );
    expect(host).toContain('HOST is "192.0.2.1", which is no address of this machine');
    expect(database).toContain('The database is unavailable');
  });

  it('starts without its Redis, is not ready then, and becomes so when Redis comes', async () => {
    const port = await freePort();
    await using service = await ServiceProcess.spawn({ REDIS_URL: `redis://127.0.0.1:${port}` });
    await eventually(async () => (await service.fetch('/health/live')).ok, { timeoutMs: 20_000 });
    const unready = await new DocumentsClient(service).send('/health/ready');
    expect(unready).toMatchObject({
      status: 503,
      body: { code: 'not_ready', detail: 'Not available at the moment: locks.' },
    });
    const { checks } = unready.body as { checks: object };
    expect(checks).toMatchObject({
      locks: { status: 'down', responseTime: expect.any(Number) },
      database: { status: 'up', responseTime: expect.any(Number) },
      accepting: { status: 'up' },
    });
    const said = new Set(Object.values(checks).flatMap((check: object) => Object.keys(check)));
    expect([...said].sort()).toEqual(['responseTime', 'status']);
    expect(service.output).toMatch(/Not ready: locks \(.*the connection to Redis/);
    await using redis = await startRedis({ port });
    await service.ready();
    expect(redis.port).toBe(port);
  });

  it('still takes requests for a while after it has said that it leaves', async () => {
    await using service = await ServiceProcess.start({ SHUTDOWN_DELAY_MS: '1500' });
    const exit = service.kill('SIGTERM');
    await eventually(async () => (await service.fetch('/health/ready')).status === 503);
    const taken = await new DocumentsClient(service).put('late', 'A text that comes late.');
    expect(taken.status).toBe(201);
    expect(taken.headers.get('connection')).toBe('close');
    expect(await exit).toEqual({ code: 0, signal: null });
  });

  it('keeps idle connections longer than any balancer does, yet waits for none at its end', async () => {
    await using service = await ServiceProcess.start({});
    const { hostname, port } = new URL(service.url);
    const used = connect(Number(port), hostname);
    const silent = connect(Number(port), hostname);
    await Promise.all([once(used, 'connect'), once(silent, 'connect')]);
    used.write('GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n');
    const [answer] = (await once(used, 'data')) as [Buffer];
    // A balancer that reuses a connection in the instant in which it is closed answers 502.
    expect(Number(/keep-alive: timeout=(\d+)/i.exec(answer.toString())?.[1])).toBeGreaterThan(60);
    const startedAt = performance.now();
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    for (const socket of [used, silent]) socket.destroy();
  });

  it('ends with 0 soon after SIGTERM, aborting what outlives the grace', async () => {
    const client = new DocumentsClient(first);
    await client.put('slow', 'A text that takes ten seconds.');
    const request = client.process('slow');
    await eventually(async () => (await client.get('slow')).state === 'processing');
    const startedAt = performance.now();
    const exit = first.kill('SIGTERM');
    expect(await request).toMatchObject({ status: 503, body: { code: 'lease_lost' } });
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(first.output).toContain('did not end within 300 ms');
    await using next = await ServiceProcess.start({ DATA_DIR: dataDir });
    const successor = new DocumentsClient(next);
    expect(await successor.get('slow')).toMatchObject({ state: 'interrupted' });
    expect(await successor.process('slow')).toMatchObject({ status: 200 });
  });
});
