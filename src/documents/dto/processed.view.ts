/** The answer to a processing that has ended well. */
export interface ProcessedView {
  readonly status: 'ok';
  readonly id: string;
  readonly pages: number | null;
  readonly chunks: number | null;
  /** Of the run's lease, in decimal. */
  readonly fence: string;
  /** True where the same text had been processed before, so that nothing had to be done. */
  readonly unchanged: boolean;
}
