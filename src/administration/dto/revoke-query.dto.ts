import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';

/** How a lock is taken from its holder. */
export class RevokeQuery {
  /** Delete also the lock of a foreign client, and one that was revoked before and whose holder has not let go. A holder that still works does so beside the next one. */
  @ApiPropertyOptional({ enum: ['true', 'false'], default: 'false' })
  @IsIn(['true', 'false'])
  force: 'true' | 'false' = 'false';
}
