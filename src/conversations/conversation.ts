import { ApiProperty } from '@nestjs/swagger';
import { type ConversationRow } from '../database/index.js';

/** A passage that answered a question. */
export class AnsweringPassage {
  @ApiProperty({ type: 'integer' })
  readonly seq: number;
  /** null for text without pages. */
  @ApiProperty({ type: Number, nullable: true })
  readonly page: number | null;
  @ApiProperty()
  readonly text: string;
  /** 1: the same, 0: unrelated. */
  @ApiProperty()
  readonly score: number;
}

/** A question about a document, with what was answered; the same in answers, lists and archives. */
export class Conversation {
  @ApiProperty({ format: 'uuid' })
  readonly id: string;
  @ApiProperty()
  readonly documentId: string;
  @ApiProperty()
  readonly question: string;
  /** Best first; empty where nothing of the document was published. */
  @ApiProperty({ type: [AnsweringPassage] })
  readonly passages: readonly AnsweringPassage[];
  /** ISO 8601. */
  @ApiProperty({ format: 'date-time' })
  readonly askedAt: string;
  /** Who answered. */
  @ApiProperty()
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
