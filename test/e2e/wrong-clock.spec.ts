import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../src/database/index.js';
import { buildClockShift } from '../support/clock-shift.js';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';
import { type PostgresServer, startPostgres } from '../support/postgres.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { ServiceProcess } from '../support/service-process.js';

const aheadMs = 25 * 3_600_000;
const clockShift = await buildClockShift();
const withClocks = typeof clockShift === 'string' ? describe.skip : describe;
if (typeof clockShift === 'string') process.stderr.write(`Skipped: ${clockShift}.\n`);

withClocks.each(['sqlite', 'postgres'] as const)(
  'a replica whose clock is 25 hours ahead, with %s',
  (dialect) => {
    const clocks = clockShift as Exclude<typeof clockShift, string>;
    let redis: RedisServer;
    let postgres: PostgresServer | undefined;
    let dataDir: string;
    let database: Database;
    let [right, ahead]: ServiceProcess[] = [];

    beforeAll(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'wrong-clock-'));
      redis = await startRedis();
      if (dialect === 'postgres') postgres = await startPostgres();
      const url = await postgres?.createDatabase();
      const env = {
        DATA_DIR: dataDir,
        REDIS_URL: redis.url,
        EMBED_WORKERS: '1',
        UPKEEP_INTERVAL_MS: '1000',
        ...(url !== undefined && { DATABASE_URL: url }),
      };
      right = await ServiceProcess.start(env);
      ahead = await ServiceProcess.start({ ...env, ...clocks.env(aheadMs) });
      database = await Database.open({ dataDir, url });
    }, 90_000);

    afterAll(async () => {
      await database?.close();
      await Promise.all([right?.stop(), ahead?.stop()]);
      await postgres?.stop();
      await redis?.stop();
      await rm(dataDir, { recursive: true, force: true });
    });

    const send = async (service: ServiceProcess, path: string, key: string, body: object) => {
      const answer = await new DocumentsClient(service).send<Record<string, unknown>>(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
      });
      return { ...answer, isReplay: answer.headers.get('idempotency-replayed') === 'true' };
    };
    const invoice = { title: 'invoice', text: 'Pay once.' };

    it('gives the kept answer of another replica, and the other gives its', async () => {
      const first = await send(right!, '/documents', 'one', invoice);
      const repeated = await send(ahead!, '/documents', 'one', invoice);
      expect(repeated).toMatchObject({ status: 201, isReplay: true, body: first.body });
      const theirs = await send(ahead!, '/documents', 'two', invoice);
      expect(await send(right!, '/documents', 'two', invoice)).toMatchObject({
        isReplay: true,
        body: theirs.body,
      });
    });

    it('removes no record that has not expired', async () => {
      const first = await send(right!, '/documents', 'three', invoice);
      await right!.stop(); // from here on the wrong one is who looks for expired records
      const expired = { id: 'expired', fingerprint: 'a', fence: 1n, expires_at: 1n };
      await database.kysely.insertInto('idempotency_records').values(expired).execute();
      await eventually(
        async () => {
          const row = database.kysely
            .selectFrom('idempotency_records')
            .select('id')
            .where('id', '=', 'expired');
          return (await row.executeTakeFirst()) === undefined;
        },
        { timeoutMs: 20_000, what: 'the expired record to be removed' },
      );
      expect(await send(ahead!, '/documents', 'three', invoice)).toMatchObject({
        isReplay: true,
        body: first.body,
      });
    });

    it('says so in its log and in its readiness, and serves', async () => {
      expect(ahead!.output).toMatch(
        /clock of this replica is 900\d\d\.\d s ahead of that of the lock store/,
      );
      const ready = await ahead!.fetch('/health/ready');
      expect(ready.status).toBe(200);
      const { status, details } = (await ready.json()) as {
        status: string;
        details: { clock: { status: string; aheadMs: number } };
      };
      expect([status, details.clock.status]).toEqual(['degraded', 'degraded']);
      expect(details.clock.aheadMs).toBeGreaterThan(aheadMs - 5_000);
    });
  },
);
