import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsString, Matches, Max, MaxLength, Min } from 'class-validator';

/** What to look for in a document. */
export class SearchQuery {
  @IsString()
  @Matches(/\S/, { message: 'q must not be blank' })
  @MaxLength(1_000)
  @ApiProperty({ maxLength: 1_000 })
  q: string;

  /** How many passages at most. */
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(50)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 50, default: 5 })
  limit: number = 5;
}
