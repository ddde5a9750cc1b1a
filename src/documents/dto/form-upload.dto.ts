import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsEmpty, IsOptional, IsString, MaxLength } from 'class-validator';
import { MAX_TITLE_LENGTH } from '../upload/upload.js';

/** The fields beside the file of a form. */
export class FormUpload {
  /** Read from the form itself, not from its fields. */
  @ApiProperty({ type: 'string', format: 'binary' })
  @IsEmpty()
  readonly file?: never;

  /** Instead of the file's name. */
  @ApiPropertyOptional({ maxLength: MAX_TITLE_LENGTH })
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE_LENGTH)
  title?: string;
}
