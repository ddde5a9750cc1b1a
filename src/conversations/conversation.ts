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

/** What a language model made of the passages. */
export class Answer {
  /** With `[n]` for the n-th passage, and for nothing that is none. */
  @ApiProperty()
  readonly text: string;
  @ApiProperty()
  readonly model: string;
  /** The `seq` of the passages that it cites, in the order in which it does. */
  @ApiProperty({ type: [Number] })
  readonly sources: readonly number[];
  /** Why the text is not whole: the model came to its greatest length, or a filter stopped it; null: it is whole. */
  @ApiProperty({ enum: ['length', 'filter', null], nullable: true, type: String })
  readonly cutOff: 'length' | 'filter' | null;
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
  /** null where no language model is set up: the passages are the answer. */
  @ApiProperty({ type: Answer, nullable: true })
  readonly answer: Answer | null;
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
    answer: row.answer === null ? null : toAnswer(row.answer),
    askedAt: new Date(Number(row.created_at)).toISOString(),
    replica: row.replica,
  };
}

function toAnswer(json: string): Answer {
  const answer = JSON.parse(json) as Omit<Answer, 'cutOff'> & Partial<Answer>;
  return { ...answer, cutOff: answer.cutOff ?? null }; // older ones do not say
}
