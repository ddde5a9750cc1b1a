import { ApiProperty } from '@nestjs/swagger';

/** A passage that was found. */
export class PassageView {
  /** Its place in the document, from 0. */
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

/** The best passages of a document for a question. */
export class SearchView {
  @ApiProperty()
  readonly id: string;

  @ApiProperty()
  readonly query: string;

  /** Best first; empty while nothing of the document is published. */
  @ApiProperty({ type: [PassageView] })
  readonly passages: readonly PassageView[];
}
