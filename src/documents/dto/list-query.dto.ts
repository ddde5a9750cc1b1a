import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

/** Which part of the list of documents. */
export class ListQuery {
  /** How many documents at most. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  limit: number = 20;

  /** The `nextCursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(300)
  @ApiPropertyOptional({ maxLength: 300 })
  cursor?: string;
}
