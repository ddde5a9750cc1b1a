import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { ArchivesRepository } from '../../../src/archive/archives.repository.js';
import { packConversations } from '../../../src/archive/pack-conversations.js';
import { unpackArchive } from '../../../src/archive/unpack-archive.js';
import { ConversationsRepository } from '../../../src/conversations/index.js';
import { type Database, StaleFenceError } from '../../../src/database/index.js';
import { conversationIds, seedConversations } from '../../support/conversations.js';
import { onBothDatabases } from '../../support/databases.js';

const replica = 'test';

onBothDatabases('moving conversations into archives', (databases) => {
  async function setUp(options?: Parameters<typeof databases.open>[0]) {
    const database = await databases.open(options);
    const conversations = new ConversationsRepository(database);
    return { database, conversations, archives: new ArchivesRepository(database, conversations) };
  }

  async function batch({ conversations }: { conversations: ConversationsRepository }, size = 10) {
    const oldest = await conversations.oldest(Date.now(), size);
    return { conversations: oldest, packed: await packConversations(oldest), replica };
  }

  async function sorted(database: Database) {
    const { live, archived } = await conversationIds(database);
    return { live: live.sort(), archived: archived.sort() };
  }

  it('takes the oldest, and keeps them readable line by line with a checksum', async () => {
    const room = await setUp();
    const ids = await seedConversations(room.database, 25, 40);
    expect(await room.archives.move({ ...(await batch(room)), fence: 1n })).toBe(true);
    expect(await sorted(room.database)).toEqual({
      live: ids.slice(10).sort(),
      archived: ids.slice(0, 10).sort(),
    });
    const { items } = await room.archives.list({ limit: 5 });
    expect(items).toMatchObject([{ conversations: 10, fence: '1', replica }]);
    const content = await room.archives.content(items[0]!.id);
    const lines = String(await unpackArchive(content!));
    expect(Buffer.byteLength(lines)).toBe(items[0]!.sizeBytes);
    expect(createHash('sha256').update(lines).digest('hex')).toBe(items[0]!.sha256);
    const first = JSON.parse(lines.split('\n')[0]!) as Record<string, unknown>;
    expect(first).toMatchObject({
      id: ids[0],
      documentId: 'manual',
      question: 'What does section 0 say? 😀',
      passages: [{ seq: 0, page: 1, text: 'Section 0.', score: 0.5 }],
      askedAt: items[0]!.oldestAt,
    });
  });

  it('refuses a writer whose lease was lost, and changes nothing', async () => {
    const room = await setUp();
    await seedConversations(room.database, 20, 40);
    const zombie = await batch(room);
    expect(await room.archives.move({ ...(await batch(room)), fence: 8n })).toBe(true);
    const before = await sorted(room.database);
    await expect(room.archives.move({ ...zombie, fence: 7n })).rejects.toThrow(StaleFenceError);
    await expect(room.archives.move({ ...(await batch(room)), fence: 7n })).rejects.toThrow(
      StaleFenceError,
    );
    expect(await sorted(room.database)).toEqual(before);
  });

  it('archives nothing twice that an earlier holder has moved since it was read', async () => {
    const room = await setUp();
    await seedConversations(room.database, 20, 40);
    const read = await batch(room, 15);
    expect(await room.archives.move({ ...(await batch(room, 5)), fence: 1n })).toBe(true);
    const before = await sorted(room.database);
    expect(await room.archives.move({ ...read, fence: 2n })).toBe(false);
    expect(await sorted(room.database)).toEqual(before);
    expect(await room.archives.move({ ...(await batch(room, 15)), fence: 2n })).toBe(true);
    expect((await sorted(room.database)).live).toEqual([]);
  });

  it('gives each conversation to one of two processes that move at once', async () => {
    const options = await databases.createOptions();
    const [one, two] = await Promise.all([setUp(options), setUp(options)]);
    const ids = await seedConversations(one.database, 20, 40);
    const [first, second] = await Promise.all([batch(one), batch(two)]);
    const outcomes = await Promise.allSettled([
      one.archives.move({ ...first, fence: 1n }),
      two.archives.move({ ...second, fence: 2n }),
    ]);
    const moved = outcomes.filter((end) => end.status === 'fulfilled' && end.value);
    expect(moved).toHaveLength(1);
    const { live, archived } = await conversationIds(one.database);
    expect([...live, ...archived].sort()).toEqual(ids.sort());
  });

  it('notices a damaged archive', async () => {
    const packed = await packConversations([]);
    expect(await unpackArchive(packed)).toHaveLength(0);
    await expect(unpackArchive({ ...packed, sha256: 'f00d' })).rejects.toThrow(/damaged.*checksum/);
    const cut = { ...packed, gzip: packed.gzip.subarray(0, -3) };
    await expect(unpackArchive(cut)).rejects.toThrow(/damaged.*decompressed/);
  });

  it('lists archives page by page', async () => {
    const room = await setUp();
    await seedConversations(room.database, 5, 40);
    for (let round = 1; round <= 5; round += 1) {
      await room.archives.move({ ...(await batch(room, 1)), fence: BigInt(round) });
    }
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await room.archives.list({ limit: 2, ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor);
    expect(new Set(seen).size).toBe(5);
    expect(seen).toHaveLength(5);
  });
});
