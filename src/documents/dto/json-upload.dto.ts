import { ApiProperty } from '@nestjs/swagger';
import { IsNotEmpty, IsString, MaxLength } from 'class-validator';
import { MAX_TITLE_LENGTH } from '../upload/upload.js';

/** A document sent as JSON. */
export class JsonUpload {
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_TITLE_LENGTH)
  @ApiProperty({ minLength: 1, maxLength: MAX_TITLE_LENGTH })
  title: string;

  @IsString()
  @ApiProperty()
  text: string;
}
