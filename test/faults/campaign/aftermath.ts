import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { allConversations } from '../../support/conversations.js';
import type { Journal, Operation } from './journal.js';
import type { LibraryDocument } from './library.js';
import { foundVersion } from './passages.js';
import type { Requests } from './requests.js';
import type { World } from './world.js';

/** Everything must work again and be given back within this, far beyond a TTL. */
const SETTLE_MS = 90_000;

/** Repeats until `probe` gives undefined, or the time is over: then what it gave last is a violation. */
async function settles(journal: Journal, probe: () => Promise<string | undefined>): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const trouble = await probe();
    if (trouble === undefined) return;
    if (Date.now() > deadline) {
      journal.violation(trouble);
      return;
    }
    await delay(200);
  }
}

/** When nothing is broken any more: every document can be replaced, processed and found, by every replica. */
export async function everythingWorks(
  { replicas }: World,
  library: readonly LibraryDocument[],
  requests: Requests,
  journal: Journal,
  version: number,
): Promise<void> {
  const check = async (document: LibraryDocument, index: number) => {
    const replica = replicas[index % replicas.length]!;
    for (const kind of ['upload', 'process', 'search'] as const) {
      await settles(journal, async () => {
        const operation = await requests.send({ kind, document, replica, version });
        const { status, code } = operation;
        const isRight =
          document.isBroken && kind === 'process'
            ? status === 422
            : status !== undefined && status < 300;
        if (!isRight) return `in the end ${kind} of ${document.id} is answered ${status} ${code}`;
        const isText = kind === 'search' && document.id.startsWith('text-');
        return isText && foundVersion(operation) !== version
          ? `in the end ${document.id} shows version ${foundVersion(operation)}, not ${version}`
          : undefined;
      });
    }
  };
  await Promise.all(library.map(check));
}

/** No lock is older than its TTL, nothing in the lock store lives for ever, no passage is left over, nor any order. */
export async function nothingStays(world: World, journal: Journal): Promise<void> {
  await settles(journal, () => queuedDocuments(world));
  await settles(journal, () => heldLocks(world));
  for (const trouble of await world.store.leftovers()) journal.violation(trouble);
  const { rows } = await sql<{ document_id: string; generation: bigint }>`
    select distinct passages.document_id, passages.generation from passages
    left join documents on documents.id = passages.document_id
      and documents.generation = passages.generation and documents.deleted = 0
    where documents.id is null`.execute(world.database.kysely);
  for (const { document_id: id, generation } of rows) {
    journal.violation(`passages of ${id} under ${generation} were left behind`);
  }
}

/** Documents that were accepted and are not done. */
async function queuedDocuments({ database }: World): Promise<string | undefined> {
  const rows = await database.kysely.selectFrom('document_queue').select('document_id').execute();
  const ids = rows.map(({ document_id: id }) => id);
  return ids.length === 0 ? undefined : `still queued in the end: ${ids.join(', ')}`;
}

/** Locks of documents that somebody still has. The archiver and the health checks go on taking theirs. */
async function heldLocks({ store }: World): Promise<string | undefined> {
  const locks = await store.locks();
  for (const { name, leftMs = 0 } of locks) {
    if (leftMs > store.longestLifeMs * 1.05) {
      return `the lock ${name} lives for ${leftMs} ms, beyond its TTL`;
    }
  }
  const held = locks.map(({ name }) => name).filter((name) => name.startsWith('doc:'));
  return held.length === 0 ? undefined : `still locked in the end: ${held.join(', ')}`;
}

/** Every conversation that was acknowledged is there once, live or archived, or went with its document; no tick ran twice. */
export async function nothingIsLostOrDoubled(world: World, journal: Journal): Promise<void> {
  const { live, archived } = await allConversations(world.database);
  const times = new Map<string, number>();
  for (const { id } of [...live, ...archived]) times.set(id, (times.get(id) ?? 0) + 1);
  askedOnceIsThereOnce([...live, ...archived], journal);
  for (const operation of journal.operations) {
    const { kind, status, body } = operation;
    if ((kind !== 'ask' && kind !== 'ask-once') || status !== 201) continue;
    const { id } = body as { id: string };
    if (!times.has(id) && !mayBeDeleted(operation, journal))
      journal.violation(`conversation ${id} was lost`);
  }
  for (const [id, count] of times) {
    if (count > 1) journal.violation(`conversation ${id} is there ${count} times`);
  }
  const { rows } = await sql<{ scheduled_at: bigint; runs: bigint }>`
    select scheduled_at, count(*) as runs from ticks
    where scheduled_at is not null and outcome in ('ran', 'failed', 'running')
    group by scheduled_at having count(*) > 1`.execute(world.database.kysely);
  for (const { scheduled_at: at, runs } of rows) {
    journal.violation(`the tick of ${new Date(Number(at)).toISOString()} ran ${runs} times`);
  }
}

/** One key, one conversation, whoever was asked how often and died at what; and every answer is that one. */
function askedOnceIsThereOnce(
  conversations: readonly { readonly id: string; readonly question: string }[],
  journal: Journal,
): void {
  const made = new Map<string, string>();
  for (const { id, question } of conversations) {
    const other = made.get(question);
    if (other !== undefined && other !== id && isOnce(question, journal)) {
      journal.violation(`"${question}" was asked with one key and made ${other} and ${id}`);
    }
    made.set(question, id);
  }
  for (const operation of journal.operations) {
    const { onceAsked, status, body } = operation;
    if (onceAsked === undefined || status !== 201) continue;
    const { id } = body as { id: string };
    const there = made.get(onceAsked);
    if (there === undefined && mayBeDeleted(operation, journal)) continue;
    if (there !== id) {
      journal.violation(`"${onceAsked}" was answered with ${id}, and is ${there}`);
    }
  }
}

/** Whether the document was, or may have been, deleted since the question was first sent, and its conversations with it. */
function mayBeDeleted(
  { document, onceAsked, sentAt }: Operation,
  { operations }: Journal,
): boolean {
  const same = operations.filter((one) => onceAsked !== undefined && one.onceAsked === onceAsked);
  const firstSentAt = Math.min(sentAt, ...same.map((one) => one.sentAt));
  return operations.some(
    ({ kind, document: deleted, status, endedAt }) =>
      kind === 'delete' &&
      deleted === document &&
      (status === undefined || ((status === 204 || status >= 500) && endedAt >= firstSentAt)),
  );
}

const isOnce = (question: string, { operations }: Journal) =>
  operations.some(({ onceAsked }) => onceAsked === question);
