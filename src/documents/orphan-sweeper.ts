import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Lease, LockBusyError, lockName, LockService } from '../lock/index.js';
import { Upkeep, type UpkeepStep } from '../upkeep/index.js';
import { VECTOR_STORE, type VectorStore } from './ports/vector-store.js';
import { type SweepMark, SweepMarks } from './sweep-marks.js';

/** How many documents one step looks at. */
const STEP_DOCUMENTS = 20;
const oneTry = { waitMs: 0 };

/**
 * Removes the passages that no pointer names: those of deleted and replaced documents, and of runs that
 * failed or died. Every change of a document marks it in its own transaction, and the mark stays until a
 * sweep of this class has come through some time later; so nothing is missed when a process dies, when the
 * vector store is away, or when the last batch of a lost run arrives late.
 */
@Injectable()
export class OrphanSweeper implements OnModuleInit {
  constructor(
    private readonly marks: SweepMarks,
    private readonly locks: LockService,
    @Inject(VECTOR_STORE) private readonly vectors: VectorStore,
    private readonly upkeep: Upkeep,
  ) {}

  onModuleInit(): void {
    this.upkeep.add({
      name: 'passages',
      removes: 'passages that no document names',
      step: (lease) => this.step(lease),
    });
  }

  /** One look at the oldest marks. @throws where the vector store or the database is away */
  private async step(lease: Lease): Promise<UpkeepStep> {
    const marks = await this.marks.due(STEP_DOCUMENTS);
    if (marks.length === 0) return { removed: 0, more: false };
    await this.vectors.ping(); // before a lock is taken, that others would find busy for as long
    let removed = 0;
    for (const mark of marks) {
      lease.assertHeld();
      removed += await this.sweep(mark);
    }
    return { removed, more: marks.length === STEP_DOCUMENTS };
  }

  /** Under the document's own lock: no run is under way then, and none begins. */
  private async sweep(mark: SweepMark): Promise<number> {
    try {
      return await this.locks.run(lockName`doc:${mark.id}`, oneTry, async (lease) => {
        lease.assertHeld();
        await this.marks.supersedeRun(mark.id, lease.fence);
        lease.assertHeld();
        const removed = await this.vectors.sweep(mark.id, null);
        lease.assertHeld();
        await this.marks.clear(mark);
        return removed;
      });
    } catch (error) {
      await this.marks.postpone(mark); // behind the others, whatever is the matter with it
      if (error instanceof LockBusyError) return 0;
      throw error;
    }
  }
}
