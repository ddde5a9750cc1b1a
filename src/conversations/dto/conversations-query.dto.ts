import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { PageQuery } from '../../http/index.js';

/** Which part of the list of conversations. */
export class ConversationsQuery extends PageQuery {
  /** Only those about this document. */
  @IsOptional()
  @Matches(/^[\w.-]{1,100}$/, { message: 'documentId must be the id of a document' })
  @ApiPropertyOptional()
  documentId?: string;
}
