import { ApiProperty } from '@nestjs/swagger';
import { Matches, MaxLength } from 'class-validator';

/** The lock in an address. */
export class LockNameParam {
  /** As the list tells it, escapes included. */
  @ApiProperty({ example: 'doc:1001' })
  @MaxLength(1_000)
  @Matches(/^(?:%[0-9A-F]{2}|[^\s\p{Cc}\p{Cs}\u2028\u2029{}%])+$/u, {
    message: 'name must be the name of a lock as GET /locks tells it, such as doc:1001',
  })
  name: string;
}
