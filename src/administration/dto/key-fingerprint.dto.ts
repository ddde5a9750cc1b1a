import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';

/** The key in an address. */
export class KeyFingerprintParam {
  @ApiProperty({ example: '2bd806c97f0e' })
  @Matches(/^[0-9a-f]{12}$/, {
    message: 'fingerprint must be one of those that GET /pool tells: twelve hexadecimal digits',
  })
  fingerprint: string;
}
