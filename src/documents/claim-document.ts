import { type Transaction } from 'kysely';
import { type DocumentRow, type Schema, StaleFenceError } from '../database/index.js';

/**
 * Takes a document's row for the rest of the transaction under `fence`: from here on nobody with an
 * older fence can write it, and nobody else can before the transaction ends. The first statement of
 * every transaction that writes more than that row.
 * @returns the row as it was, but for the fence; null when there has never been such a document
 * @throws StaleFenceError when a newer holder has written it
 */
export async function claimDocument(
  transaction: Transaction<Schema>,
  id: string,
  fence: bigint,
): Promise<DocumentRow | null> {
  const claimed = await transaction
    .updateTable('documents')
    .set({ fence })
    .where('id', '=', id)
    .where('fence', '<=', fence)
    .returningAll()
    .executeTakeFirst();
  if (claimed !== undefined) return claimed;
  const present = await transaction
    .selectFrom('documents')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst();
  if (present === undefined) return null;
  throw new StaleFenceError({ table: 'documents', id, fence });
}
