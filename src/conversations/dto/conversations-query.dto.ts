import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min } from 'class-validator';

/** Which part of the list of conversations. */
export class ConversationsQuery {
  /** Only those about this document. */
  @IsOptional()
  @Matches(/^[\w.-]{1,100}$/, { message: 'documentId must be the id of a document' })
  @ApiPropertyOptional()
  documentId?: string;

  /** How many conversations at most. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  limit: number = 20;

  /** The `nextCursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  @ApiPropertyOptional({ maxLength: 300 })
  cursor?: string;
}
