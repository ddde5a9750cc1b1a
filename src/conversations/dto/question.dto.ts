import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsString, Matches, Max, MaxLength, Min } from 'class-validator';

/** A question about a document. */
export class Question {
  @IsString()
  @Matches(/\S/, { message: 'question must not be blank' })
  @MaxLength(1_000)
  @ApiProperty({ maxLength: 1_000 })
  question: string;

  /** How many passages at most. */
  @IsInt()
  @Min(1)
  @Max(20)
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 20, default: 3 })
  limit: number = 3;
}
