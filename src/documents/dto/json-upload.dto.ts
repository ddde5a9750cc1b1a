import { IsNotEmpty, IsString, MaxLength } from 'class-validator';
import { MAX_TITLE_LENGTH } from '../upload/upload.js';

/** A document sent as JSON. */
export class JsonUpload {
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_TITLE_LENGTH)
  title: string;

  @IsString()
  text: string;
}
