import { Type } from 'class-transformer';
import { IsInt, Max, Min } from 'class-validator';

/** How much of the list of locks. */
export class LocksQuery {
  /** How many locks at most. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1_000)
  limit: number = 100;
}
