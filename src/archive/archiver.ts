import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { APP_CONFIG, type AppConfig } from '../config/index.js';
import { ConversationsRepository } from '../conversations/index.js';
import { Drain } from '../http/index.js';
import { type Lease, type Tick } from '../lock/index.js';
import { OncePerTick } from '../lock/schedule/index.js';
import { ARCHIVE_JOB } from './archive-job.js';
import { ArchivesRepository } from './archives.repository.js';
import { packConversations } from './pack-conversations.js';
import { TickLog } from './tick-log.js';

/** What a run did. */
export class ArchiveRun {
  /** Conversations that were moved. */
  @ApiProperty({ type: 'integer' })
  readonly archived: number;
  /** Archives that were written. */
  @ApiProperty({ type: 'integer' })
  readonly archives: number;
  /** False where the replica began to shut down before all that was due had been moved. */
  @ApiProperty()
  readonly complete: boolean;
  /** Of the run's lease, in decimal. */
  @ApiProperty()
  readonly fence: string;
}

const dayMs = 86_400_000;
const batchSize = 100;

/**
 * Moves conversations older than ARCHIVE_AFTER_DAYS into archives, batch by batch. It may die at any
 * point: what it has moved is moved, and the next run goes on with the rest.
 */
@Injectable()
export class Archiver {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly conversations: ConversationsRepository,
    private readonly archives: ArchivesRepository,
    private readonly log: TickLog,
    private readonly drain: Drain,
  ) {}

  /**
   * One run, under the job's lock.
   * @throws LockLostError or StaleFenceError when the lease ends under it; DatabaseUnavailableError
   */
  @OncePerTick(ARCHIVE_JOB)
  async archive(lease: Lease, tick: Tick): Promise<ArchiveRun> {
    await this.log.begin(tick, lease.fence);
    const run = await this.batches(lease);
    await this.log.ran(tick.job, lease.fence, summary(run));
    return run;
  }

  private async batches(lease: Lease): Promise<ArchiveRun> {
    const { instanceId: replica, archive, documents } = this.config;
    const { fence, signal } = lease;
    // The store's time, not this machine's: a replica whose clock is ahead must not archive the young.
    const beforeMs = lease.storeTimeMs - archive.afterDays * dayMs;
    const done = { archived: 0, archives: 0, fence: String(fence) };
    const step = async () => {
      if (documents.stepDelayMs > 0) {
        await delay(documents.stepDelayMs, undefined, { signal }).catch(() =>
          signal.throwIfAborted(),
        );
      }
      lease.assertHeld();
    };
    while (!this.drain.isLeaving) {
      await step();
      const conversations = await this.conversations.oldest(beforeMs, batchSize);
      if (conversations.length === 0) return { ...done, complete: true };
      await step();
      const packed = await packConversations(conversations);
      await step();
      if (await this.archives.move({ conversations, packed, fence, replica })) {
        done.archived += conversations.length;
        done.archives += 1;
      }
    }
    return { ...done, complete: false };
  }
}

/** A run in words, for the list of ticks. */
export function summary({ archived, archives, complete }: ArchiveRun): string {
  const moved = `${archived} conversations in ${archives} archives`;
  return complete ? moved : `${moved}; stopped early by a shutdown`;
}
