import { ApiProperty } from '@nestjs/swagger';
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Transaction } from 'kysely';
import {
  Database,
  newestPage,
  type PagePart,
  type Schema,
  serverTime,
  withoutNul,
} from '../database/index.js';
import { DocumentNotFoundError } from '../documents/index.js';
import {
  type Answer,
  type AnsweringPassage,
  Conversation,
  toConversation,
} from './conversation.js';

/** What is recorded of a conversation. */
export interface NewConversation {
  readonly documentId: string;
  readonly question: string;
  readonly passages: readonly AnsweringPassage[];
  /** @default null */
  readonly answer?: Answer | null | undefined;
  readonly replica: string;
}

/** Writes in the transaction that adds a conversation. */
export type AddedConversation = (
  transaction: Transaction<Schema>,
  conversation: Conversation,
) => Promise<void>;

/** Part of the list of conversations. */
export class ConversationPage {
  @ApiProperty({ type: [Conversation] })
  readonly items: readonly Conversation[];
  /** Gives the next page; null at the end. */
  @ApiProperty({ type: String, nullable: true })
  readonly nextCursor: string | null;
}

/** Which part of the list. */
export interface ConversationFilter extends PagePart {
  readonly documentId?: string | undefined;
}

/**
 * The conversations. They are never changed, only added and, by the archiver, moved away. All
 * methods throw DatabaseUnavailableError.
 */
@Injectable()
export class ConversationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Records a conversation that has just been had; `within` writes in the same transaction, last.
   * @throws DocumentNotFoundError when the document was deleted meanwhile, with what is quoted here
   */
  async add(
    { documentId, question, passages, answer = null, replica }: NewConversation,
    within?: AddedConversation,
  ): Promise<Conversation> {
    return this.database.transaction(async (transaction) => {
      await this.assertDocument(transaction, documentId);
      const row = await transaction
        .insertInto('conversations')
        .values({
          id: randomUUID(),
          document_id: documentId,
          question: withoutNul(question),
          passages: JSON.stringify(passages),
          answer: answer === null ? null : JSON.stringify(answer),
          created_at: serverTime(this.database),
          replica,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      const conversation = toConversation(row);
      await within?.(transaction, conversation);
      return conversation;
    });
  }

  /** Keeps the document from being deleted before the transaction ends. */
  private async assertDocument(transaction: Transaction<Schema>, id: string): Promise<void> {
    const query = transaction
      .selectFrom('documents')
      .select('id')
      .where('id', '=', id)
      .where('deleted', '=', 0n);
    const isPostgres = this.database.dialect === 'postgres';
    const row = await (isPostgres ? query.forShare() : query).executeTakeFirst();
    if (row === undefined) throw new DocumentNotFoundError(id);
  }

  /** The conversation, or null when there is none (any more). */
  async find(id: string): Promise<Conversation | null> {
    const row = await this.database.kysely
      .selectFrom('conversations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    return row === undefined ? null : toConversation(row);
  }

  /**
   * Up to `limit` conversations, newest first, of one document or of all. @throws InvalidCursorError
   */
  async list({ documentId, ...part }: ConversationFilter): Promise<ConversationPage> {
    let query = this.database.kysely.selectFrom('conversations').selectAll();
    if (documentId !== undefined) query = query.where('document_id', '=', documentId);
    const { rows, nextCursor } = await newestPage(query, 'created_at', part);
    return { items: rows.map(toConversation), nextCursor };
  }

  /** Up to `limit` conversations from before `beforeMs`, oldest first. */
  async oldest(beforeMs: number, limit: number): Promise<readonly Conversation[]> {
    const rows = await this.database.kysely
      .selectFrom('conversations')
      .selectAll()
      .where('created_at', '<', BigInt(beforeMs))
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(toConversation);
  }

  /** Removes conversations, inside the caller's transaction. Gives how many were there. */
  async remove(transaction: Transaction<Schema>, ids: readonly string[]): Promise<number> {
    const { numDeletedRows } = await transaction
      .deleteFrom('conversations')
      .where('id', 'in', ids)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}
