import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Database } from '../../../src/database/index.js';
import { migrations } from '../../../src/database/migrations/index.js';
import { runMigrations } from '../../../src/database/run-migrations.js';
import { PIECE_BYTES } from '../../../src/documents/contents/content.js';
import { ContentWriter } from '../../../src/documents/contents/content-writer.js';
import { ContentsRepository } from '../../../src/documents/contents/contents.repository.js';
import { DocumentsRepository } from '../../../src/documents/documents.repository.js';
import { onBothDatabases } from '../../support/databases.js';

/** Bytes of which no two pieces are alike. */
function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (at ^ (at >> 8) ^ (at >> 16)) & 0xff));
}

onBothDatabases('contents', (fixture) => {
  let database: Database;
  let contents: ContentsRepository;
  let documents: DocumentsRepository;

  beforeEach(async () => {
    database = await fixture.open();
    contents = new ContentsRepository(database);
    documents = new DocumentsRepository(database, contents);
  });

  async function written(bytes: Buffer, partBytes = 65_536): Promise<ContentWriter> {
    const writer = new ContentWriter(contents);
    for (let at = 0; at < bytes.length; at += partBytes) {
      await writer.write(bytes.subarray(at, at + partBytes));
    }
    return writer;
  }

  const put = (id: string, fence: bigint, writer: ContentWriter) =>
    documents.put(id, fence, { title: id, mediaType: 'text/plain', content: writer.end() });
  const count = async (table: 'content_pieces' | 'uploads') =>
    (await database.kysely.selectFrom(table).selectAll().execute()).length;
  const read = async (id: string) => buffer((await documents.content(id))!.pieces);

  it.each([0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 1])(
    'of %i bytes come out as they went in, in pieces of a bounded size',
    async (length) => {
      const bytes = bytesOf(length);
      const { document } = await put('a', 1n, await written(bytes, 40_000));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(document).toMatchObject({ sizeBytes: length, sha256 });
      expect((await read('a')).equals(bytes)).toBe(true);
      expect(await count('uploads')).toBe(0);
      expect(await count('content_pieces')).toBe(Math.ceil(length / PIECE_BYTES));
    },
  );

  it('leave nothing of what was replaced, deleted, the same as before, or given up', async () => {
    const bytes = bytesOf(2 * PIECE_BYTES);
    await put('a', 1n, await written(bytes));
    const same = await written(bytes);
    await put('a', 2n, same);
    await same.discard();
    await (await written(bytes)).discard();
    expect(await count('content_pieces')).toBe(2);
    const published = await written(bytesOf(PIECE_BYTES + 1));
    await put('a', 3n, published);
    await published.discard();
    expect((await read('a')).length).toBe(PIECE_BYTES + 1);
    expect(await count('content_pieces')).toBe(2);
    await documents.delete('a', 4n);
    expect(await count('content_pieces')).toBe(0);
    expect(await count('uploads')).toBe(0);
  });

  it('fail for who reads on after the document has changed, and are never of two documents', async () => {
    await put('a', 1n, await written(bytesOf(3 * PIECE_BYTES)));
    const { pieces } = (await documents.content('a'))!;
    const reader = pieces[Symbol.asyncIterator]();
    await reader.next();
    await put('a', 2n, await written(bytesOf(4 * PIECE_BYTES)));
    await expect(reader.next()).rejects.toMatchObject({ code: 'content_gone' });
  });

  it('are removed when their upload is abandoned, and cannot be published then', async () => {
    const late = await written(bytesOf(2 * PIECE_BYTES));
    const unfinished = await written(bytesOf(2 * PIECE_BYTES));
    expect(await contents.removeAbandoned()).toBe(0);
    await sql`update uploads set begun_at = begun_at - 3600000`.execute(database.kysely);
    expect(await contents.removeAbandoned()).toBe(2);
    expect(await count('content_pieces')).toBe(0);
    await expect(put('a', 1n, late)).rejects.toMatchObject({ code: 'request_timeout' });
    expect(await documents.find('a')).toBeNull();
    await expect(unfinished.write(bytesOf(2 * PIECE_BYTES))).rejects.toMatchObject({
      code: 'request_timeout',
    });
    expect(await count('content_pieces')).toBe(0);
  });

  describe('of an earlier version', () => {
    it('are moved into pieces', async () => {
      const { kysely, dialect } = database;
      const type = dialect === 'postgres' ? 'bytea' : 'blob';
      // As it was before: the tables of the migration do not exist yet.
      for (const table of ['content_pieces', 'uploads'])
        await kysely.schema.dropTable(table).execute();
      await kysely.schema.alterTable('documents').dropColumn('content_id').execute();
      await kysely.schema
        .createTable('document_contents')
        .addColumn('document_id', 'text', (column) => column.primaryKey())
        .addColumn('fence', 'bigint')
        .addColumn('bytes', type)
        .execute();
      const sizes = [0, 10, 2 * PIECE_BYTES, 2 * PIECE_BYTES + 7];
      for (const size of sizes) {
        const id = `of-${size}`;
        await sql`insert into documents
          (id, title, media_type, size_bytes, sha256, state, fence, deleted, created_at, updated_at)
          values (${id}, 'a', 'text/plain', ${size}, '', 'uploaded', 1, 0, 1, 1)`.execute(kysely);
        await sql`insert into document_contents values (${id}, 1, ${bytesOf(size)})`.execute(
          kysely,
        );
      }
      await sql`delete from schema_migrations where name = '0008-content-pieces'`.execute(kysely);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of migrations
      await runMigrations(kysely as never, dialect, migrations);
      for (const size of sizes) expect((await read(`of-${size}`)).equals(bytesOf(size))).toBe(true);
    });
  });
});
