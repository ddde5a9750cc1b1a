import { Inject, Injectable, Logger } from '@nestjs/common';
import { VECTOR_STORE, type VectorStore } from '../../ports/vector-store.js';

/** Tidies up behind runs and changes of documents. */
@Injectable()
export class Sweeper {
  private readonly logger = new Logger(Sweeper.name);

  constructor(@Inject(VECTOR_STORE) private readonly vectors: VectorStore) {}

  /**
   * Removes passages that nobody will read again (see VectorStore.sweep). Never rejects: what stays
   * behind is invisible, and the sweep in the background takes it along (OrphanSweeper).
   */
  async sweep(documentId: string, keep: bigint | null): Promise<void> {
    try {
      await this.vectors.sweep(documentId, keep);
    } catch (error) {
      this.logger.warn(`Old passages of document ${documentId} stay for now: ${String(error)}`);
    }
  }
}
