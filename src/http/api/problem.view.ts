import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** A problem (RFC 9457); docs/problems.md lists all codes. */
export class ProblemView {
  @ApiProperty({ example: 'urn:doclock:problem:lock_busy' })
  readonly type: string;

  /** One per code. */
  @ApiProperty()
  readonly title: string;

  @ApiProperty({ type: 'integer' })
  readonly status: number;

  /** Stable, for programs. */
  @ApiProperty()
  readonly code: string;

  /** What happened this time, and what to do about it. */
  @ApiPropertyOptional()
  readonly detail?: string;
}
