import { type ConversationRow } from '../database/index.js';

/** A passage that answered a question. */
export interface AnsweringPassage {
  readonly seq: number;
  /** null for text without pages. */
  readonly page: number | null;
  readonly text: string;
  /** 1: the same, 0: unrelated. */
  readonly score: number;
}

/** A question about a document, with what was answered; the same in answers, lists and archives. */
export interface Conversation {
  readonly id: string;
  readonly documentId: string;
  readonly question: string;
  /** Best first; empty where nothing of the document was published. */
  readonly passages: readonly AnsweringPassage[];
  /** ISO 8601. */
  readonly askedAt: string;
  /** Who answered. */
  readonly replica: string;
}

/** The conversation of a row. */
export function toConversation(row: ConversationRow): Conversation {
  return {
    id: row.id,
    documentId: row.document_id,
    question: row.question,
    passages: JSON.parse(row.passages) as AnsweringPassage[],
    askedAt: new Date(Number(row.created_at)).toISOString(),
    replica: row.replica,
  };
}
