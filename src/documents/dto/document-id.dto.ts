import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';

/** The id in an address. */
export class DocumentId {
  @ApiProperty({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$', example: '1001' })
  @Matches(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
    message:
      'id must be 1 to 100 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  })
  id: string;
}
