import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** Which part of a list. */
export class PageQuery {
  /** How many entries at most. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(200)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 200, default: 20 })
  limit: number = 20;

  /** The `nextCursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  @ApiPropertyOptional({ maxLength: 300 })
  cursor?: string;
}
