import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { type Database } from '../../src/database/index.js';

const dayMs = 86_400_000;

/** Puts `count` conversations into the database, `ageDays` old, a second apart. Gives their ids, oldest first. */
export async function seedConversations(
  database: Database,
  count: number,
  ageDays: number,
  documentId = 'manual',
): Promise<string[]> {
  const first = Date.now() - ageDays * dayMs;
  const rows = Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    document_id: documentId,
    question: `What does section ${index} say? 😀`,
    passages: JSON.stringify([{ seq: index, page: 1, text: `Section ${index}.`, score: 0.5 }]),
    created_at: first + index * 1_000,
    replica: 'test',
  }));
  for (let start = 0; start < rows.length; start += 100) {
    await database.kysely
      .insertInto('conversations')
      .values(rows.slice(start, start + 100))
      .execute();
  }
  return rows.map(({ id }) => id);
}

/** What tests look at of a conversation. */
export interface ConversationSign {
  readonly id: string;
  readonly question: string;
}

/** All conversations, in their table and in archives, each as often as it is there. */
export async function allConversations(
  database: Database,
): Promise<{ live: ConversationSign[]; archived: ConversationSign[] }> {
  const live = await database.kysely
    .selectFrom('conversations')
    .select(['id', 'question'])
    .execute();
  const archives = await database.kysely.selectFrom('archives').select('gzip').execute();
  const lines = archives.flatMap(({ gzip }) => gunzipSync(gzip).toString().trimEnd().split('\n'));
  return { live, archived: lines.map((line) => JSON.parse(line) as ConversationSign) };
}

/** The ids of all conversations, in their table and in archives, each as often as it is there. */
export async function conversationIds(
  database: Database,
): Promise<{ live: string[]; archived: string[] }> {
  const { live, archived } = await allConversations(database);
  return { live: live.map(({ id }) => id), archived: archived.map(({ id }) => id) };
}
