import { IsOptional, IsString, MaxLength } from 'class-validator';
import { MAX_TITLE_LENGTH } from '../upload/upload.js';

/** The fields beside the file of a form. */
export class FormUpload {
  /** Instead of the file's name. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE_LENGTH)
  title?: string;
}
