import { ApiProperty } from '@nestjs/swagger';
/** The answer to a processing that has ended well. */
export class ProcessedView {
  @ApiProperty({ enum: ['ok'] })
  readonly status: 'ok';
  @ApiProperty()
  readonly id: string;
  @ApiProperty({ type: Number, nullable: true })
  readonly pages: number | null;
  @ApiProperty({ type: Number, nullable: true })
  readonly chunks: number | null;
  /** Of the run's lease, in decimal. */
  @ApiProperty({ pattern: '^\\d+$' })
  readonly fence: string;
  /** True where the same text had been processed before, so that nothing had to be done. */
  @ApiProperty()
  readonly unchanged: boolean;
}

/** The answer to an order to process in the background. */
export class AcceptedView {
  @ApiProperty({ enum: ['accepted'] })
  readonly status: 'accepted';
  @ApiProperty()
  readonly id: string;
}
