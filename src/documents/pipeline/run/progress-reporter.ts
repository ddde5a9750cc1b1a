import { type StageProgress } from '../../document-runs.repository.js';
import { type Stage } from '../../document-record.js';

const everyMs = 200;

/**
 * Carries progress from synchronous callbacks to a row: at most one write at a time, at most one in
 * 200 ms, the latest wins. A write that fails (a stale fence, say) ends the stage that reports.
 */
export class ProgressReporter {
  private stage: Stage = 'extract';
  private latest: StageProgress | undefined;
  private writing: Promise<void> | undefined;
  private writtenAt = -Infinity;
  private failure: { readonly error: unknown } | undefined;

  /** @param write saves one state of affairs; it must refuse a stale writer */
  constructor(private readonly write: (progress: StageProgress) => Promise<void>) {}

  /** Begins a stage and saves that. @throws what `write` throws, now or in the stage before */
  async enter(stage: Stage): Promise<void> {
    await this.settle();
    this.stage = stage;
    this.writtenAt = performance.now();
    await this.write({ stage, done: 0, total: null });
  }

  /** Notes how far the stage is. @throws what an earlier write threw */
  readonly report = (done: number, total: number): void => {
    if (this.failure) throw this.failure.error;
    this.latest = { stage: this.stage, done, total };
    if (!this.writing && performance.now() - this.writtenAt >= everyMs) this.flush();
  };

  /** Waits for the write under way, after which nothing more is written. @throws what a write threw */
  async settle(): Promise<void> {
    await this.writing;
    this.latest = undefined;
    if (this.failure) throw this.failure.error;
  }

  private flush(): void {
    const progress = this.latest;
    if (!progress) return;
    this.latest = undefined;
    this.writtenAt = performance.now();
    this.writing = this.write(progress)
      .catch((error: unknown) => {
        this.failure = { error };
      })
      .finally(() => {
        this.writing = undefined;
      });
  }
}
