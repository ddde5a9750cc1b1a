import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, Max, Min } from 'class-validator';

/** How much of the list of locks. */
export class LocksQuery {
  /** How many locks at most. */
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000, default: 100 })
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(1_000)
  limit: number = 100;
}
