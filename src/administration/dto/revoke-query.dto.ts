import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';

/** How a lock is taken from its holder. */
export class RevokeQuery {
  /** Delete also the lock of a foreign client, which goes on working. */
  @ApiPropertyOptional({ enum: ['true', 'false'], default: 'false' })
  @IsIn(['true', 'false'])
  force: 'true' | 'false' = 'false';
}
