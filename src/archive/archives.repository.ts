import { ApiProperty } from '@nestjs/swagger';
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ConversationsRepository, type Conversation } from '../conversations/index.js';
import { Database, guardedWrite, newestPage, type PagePart } from '../database/index.js';
import { ARCHIVE_JOB } from './archive-job.js';
import { type PackedConversations } from './pack-conversations.js';

/** An archive as clients see it in the list. Times are ISO 8601. */
export class ArchiveView {
  @ApiProperty({ format: 'uuid' })
  readonly id: string;
  @ApiProperty({ type: 'integer' })
  readonly conversations: number;
  /** When its first and its last conversation was had. */
  @ApiProperty({ format: 'date-time' })
  readonly oldestAt: string;
  @ApiProperty({ format: 'date-time' })
  readonly newestAt: string;
  /** The length and the SHA-256, in hex, of the JSON lines. */
  @ApiProperty({ type: 'integer' })
  readonly sizeBytes: number;
  @ApiProperty()
  readonly sha256: string;
  @ApiProperty({ format: 'date-time' })
  readonly createdAt: string;
  /** Of the run that wrote it, in decimal. */
  @ApiProperty()
  readonly fence: string;
  @ApiProperty()
  readonly replica: string;
}

/** Part of the list of archives. */
export class ArchivePage {
  @ApiProperty({ type: [ArchiveView] })
  readonly items: readonly ArchiveView[];
  /** Gives the next page; null at the end. */
  @ApiProperty({ type: String, nullable: true })
  readonly nextCursor: string | null;
}

/** A batch that is to be moved. */
export interface ArchiveBatch {
  /** At least one, oldest first. */
  readonly conversations: readonly Conversation[];
  readonly packed: PackedConversations;
  readonly fence: bigint;
  readonly replica: string;
}

class GoneMeanwhile extends Error {}

/** The archives. All methods throw DatabaseUnavailableError. */
@Injectable()
export class ArchivesRepository {
  constructor(
    private readonly database: Database,
    private readonly conversations: ConversationsRepository,
  ) {}

  /**
   * Moves a batch in one transaction: every conversation is either in its table or in one archive,
   * whenever the process dies. False, with nothing changed, where some of them were moved by an
   * earlier run since they were read: read again.
   * @throws StaleFenceError once a newer holder of the job's lock has written
   */
  async move({ conversations, packed, fence, replica }: ArchiveBatch): Promise<boolean> {
    const times = conversations.map(({ askedAt }) => Date.parse(askedAt));
    const ids = conversations.map(({ id }) => id);
    try {
      await this.database.transaction(async (transaction) => {
        await guardedWrite(
          { table: 'writer_fences', id: ARCHIVE_JOB, fence },
          transaction
            .insertInto('writer_fences')
            .values({ name: ARCHIVE_JOB, fence })
            .onConflict((conflict) =>
              conflict
                .column('name')
                .doUpdateSet({ fence })
                .where('writer_fences.fence', '<=', fence),
            ),
        );
        const removed = await this.conversations.remove(transaction, ids);
        if (removed !== ids.length) throw new GoneMeanwhile();
        await transaction
          .insertInto('archives')
          .values({
            id: randomUUID(),
            fence,
            conversations: ids.length,
            oldest_at: Math.min(...times),
            newest_at: Math.max(...times),
            size_bytes: packed.sizeBytes,
            sha256: packed.sha256,
            gzip: packed.gzip,
            created_at: Date.now(),
            replica,
          })
          .execute();
      });
      return true;
    } catch (error) {
      if (error instanceof GoneMeanwhile) return false;
      throw error;
    }
  }

  /** Up to `limit` archives, newest first. @throws InvalidCursorError */
  async list(part: PagePart): Promise<ArchivePage> {
    const query = this.database.kysely
      .selectFrom('archives')
      .select(['id', 'fence', 'conversations', 'oldest_at', 'newest_at', 'size_bytes', 'sha256'])
      .select(['created_at', 'replica']);
    const { rows, nextCursor } = await newestPage(query, 'created_at', part);
    const items = rows.map((row) => ({
      id: row.id,
      conversations: Number(row.conversations),
      oldestAt: iso(row.oldest_at),
      newestAt: iso(row.newest_at),
      sizeBytes: Number(row.size_bytes),
      sha256: row.sha256,
      createdAt: iso(row.created_at),
      fence: String(row.fence),
      replica: row.replica,
    }));
    return { items, nextCursor };
  }

  /** The content of an archive, or null when there is none of that id. */
  async content(id: string): Promise<PackedConversations | null> {
    const row = await this.database.kysely
      .selectFrom('archives')
      .select(['gzip', 'size_bytes', 'sha256'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (row === undefined) return null;
    return { gzip: row.gzip, sizeBytes: Number(row.size_bytes), sha256: row.sha256 };
  }
}

function iso(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}
