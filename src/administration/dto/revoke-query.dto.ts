import { IsIn } from 'class-validator';

/** How a lock is taken from its holder. */
export class RevokeQuery {
  /** Delete also the lock of a foreign client, which goes on working. */
  @IsIn(['true', 'false'])
  force: 'true' | 'false' = 'false';
}
