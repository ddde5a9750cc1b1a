import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../src/database/index.js';
import { LockService } from '../../src/lock/index.js';
import { Upkeep } from '../../src/upkeep/index.js';
import { startApp, type TestApp } from '../support/app.js';
import { conversationIds, seedConversations } from '../support/conversations.js';
import { DocumentsClient } from '../support/documents-client.js';
import { eventually } from '../support/eventually.js';

interface ArchiveBody {
  readonly id: string;
  readonly conversations: number;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly fence: string;
}
interface TickBody {
  readonly scheduledAt: string | null;
  readonly outcome: string;
  readonly fence: string | null;
  readonly durationMs: number | null;
  readonly detail: string | null;
}
interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

describe('the archiver over HTTP', () => {
  let app: TestApp;
  let client: DocumentsClient;
  let database: Database;

  beforeAll(async () => {
    app = await startApp({ INSTANCE_ID: 'me' });
    client = new DocumentsClient({ fetch: (path, init) => fetch(app.url + path, init) });
    database = app.app.get(Database);
  });

  afterAll(() => app?.close());

  beforeEach(async () => {
    for (const table of ['conversations', 'archives', 'ticks'] as const) {
      await database.kysely.deleteFrom(table).execute();
    }
  });

  const run = () => client.send<Record<string, unknown>>('/archive/run', { method: 'POST' });
  const ticks = async () => (await client.send<Page<TickBody>>('/archive/ticks')).body.items;

  it('moves what is old by hand, leaves what is young, and tells of it', async () => {
    const old = await seedConversations(database, 250, 31);
    const young = await seedConversations(database, 3, 29);
    const { status, body } = await run();
    expect(status).toBe(200);
    expect(body).toEqual({
      archived: 250,
      archives: 3,
      complete: true,
      fence: expect.stringMatching(/^\d+$/),
    });
    const { live, archived } = await conversationIds(database);
    expect(live.toSorted()).toEqual(young.toSorted());
    expect(archived.toSorted()).toEqual(old.toSorted());

    const { body: list } = await client.send<Page<ArchiveBody>>('/archives?limit=2');
    expect(list.items.map(({ conversations }) => conversations)).toEqual([50, 100]);
    expect(list.items[0]!.fence).toBe(body['fence']);
    const rest = await client.send<Page<ArchiveBody>>(`/archives?cursor=${list.nextCursor}`);
    expect(rest.body).toMatchObject({ items: [{ conversations: 100 }], nextCursor: null });
    const seen = await eventually(async () => {
      const items = await ticks();
      return items[0]?.durationMs === null ? false : items;
    });
    expect(seen).toMatchObject([
      {
        scheduledAt: null,
        outcome: 'ran',
        replica: 'me',
        fence: body['fence'],
        detail: '250 conversations in 3 archives',
      },
    ]);
    const { body: history } = await client.send<{ counts: object }>('/archive/ticks?limit=1');
    expect(history.counts).toEqual({ ran: 1 });
  });

  it('gives an archive as JSON lines with a checksum', async () => {
    const ids = await seedConversations(database, 20, 40);
    await run();
    const { body } = await client.send<Page<ArchiveBody>>('/archives');
    const [archive] = body.items;
    const response = await fetch(`${app.url}/archives/${archive!.id}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const sha256 = createHash('sha256').update(bytes);
    expect(response.headers.get('content-type')).toBe('application/jsonl; charset=utf-8');
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(response.headers.get('x-checksum-sha256')).toBe(archive!.sha256);
    expect(response.headers.get('repr-digest')).toBe(
      `sha-256=:${Buffer.from(archive!.sha256, 'hex').toString('base64')}:`,
    );
    expect(sha256.digest('hex')).toBe(archive!.sha256);
    const lines = bytes.toString().trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(ids);
  });

  it('never gives a damaged archive as a whole one', async () => {
    await seedConversations(database, 20, 40);
    await run();
    const sha256 = '0'.repeat(64);
    await database.kysely.updateTable('archives').set({ sha256 }).execute();
    const { body } = await client.send<Page<ArchiveBody>>('/archives');
    expect(await client.send(`/archives/${body.items[0]!.id}`)).toMatchObject({
      status: 500,
      body: { code: 'internal_error' },
    });
  });

  it('answers 423 while it runs anywhere, and leaves the lock alone', async () => {
    await app.app.get(LockService).run('job:archive', async () => {
      const { status, headers, body } = await run();
      expect(status).toBe(423);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(body).toMatchObject({ code: 'lock_busy' });
    });
    expect((await run()).status).toBe(200);
  });

  it('shows a run whose process died as interrupted, and one that goes on as running', async () => {
    const row = {
      id: 'x',
      job: 'archive',
      outcome: 'running',
      replica: 'dead',
      fence: 1n,
      expires_at: 2n ** 50n,
    };
    await database.kysely
      .insertInto('ticks')
      .values({ ...row, scheduled_at: Date.UTC(2026, 0, 1), started_at: Date.now() })
      .execute();
    expect(await ticks()).toMatchObject([
      { scheduledAt: '2026-01-01T00:00:00.000Z', outcome: 'interrupted', durationMs: null },
    ]);
    await app.app.get(LockService).run('job:archive', async ({ fence }) => {
      await database.kysely.updateTable('ticks').set({ fence }).execute();
      expect(await ticks()).toMatchObject([{ outcome: 'running', fence: String(fence) }]);
    });
  });

  it('pages its history, without what has expired', async () => {
    const dayMs = 86_400_000;
    const row = { job: 'archive', replica: 'other', duration_ms: 1 };
    const past = [
      ['ran', 89, false],
      ['ran', 91, true],
      ['failed', 2, false],
      ['skipped-held', 2, true],
      ['skipped-done', 0.5, false],
    ] as const;
    for (const [index, [outcome, days, isExpired]] of past.entries()) {
      const started_at = Math.round(Date.now() - days * dayMs);
      const expires_at = Date.now() + (isExpired ? -1 : dayMs);
      await database.kysely
        .insertInto('ticks')
        .values({ ...row, id: `past-${index}`, outcome, started_at, expires_at })
        .execute();
    }
    await run();
    expect(await app.app.get(Upkeep).run('ticks')).toBe(2);
    const seen: string[] = [];
    await eventually(async () => {
      seen.length = 0;
      let cursor: string | null = null;
      do {
        const path: string = `/archive/ticks?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`;
        const page: Page<TickBody> = (await client.send<Page<TickBody>>(path)).body;
        seen.push(...page.items.map(({ outcome }) => outcome));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(['ran', 'skipped-done', 'failed', 'ran']);
      return true;
    });
  });

  it.each([
    ['/archives/00000000-0000-4000-8000-000000000000', 404, 'archive_not_found'],
    ['/archives/7', 400, 'validation_failed'],
    ['/archives/7%00', 400, 'validation_failed'],
    ['/archives?cursor=x', 400, 'invalid_cursor'],
    ['/archive/ticks?limit=1000', 400, 'validation_failed'],
    ['/archive/run', 405, 'method_not_allowed'],
  ])('GET %s is %d', async (path, status, code) => {
    expect(await client.send(path)).toMatchObject({ status, body: { code } });
  });
});
