import { ApiProperty } from '@nestjs/swagger';
import { type LockState } from '../../lock/index.js';

/** Who holds a lock. Not its token: whoever had that could release or renew the lock. */
export class LockHolderView {
  /** Of the process, random. */
  @ApiProperty()
  readonly process: string;
  /** What people call the replica. */
  @ApiProperty()
  readonly label: string;
}

/** A lock that is held, as administrators see it. */
export class LockView {
  @ApiProperty()
  readonly name: string;
  /** null for a foreign client. */
  @ApiProperty({ type: LockHolderView, nullable: true })
  readonly holder: LockHolderView | null;
  /** ISO 8601, by this replica's clock; null where not known. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly since: string | null;
  @ApiProperty({ type: Number, nullable: true })
  readonly heldForMs: number | null;
  /** How long it lives yet if it is not renewed; null: for ever. */
  @ApiProperty({ type: Number, nullable: true })
  readonly remainingMs: number | null;
  /** Processes that stand in line. */
  @ApiProperty({ type: 'integer' })
  readonly queued: number;
  /** Taken from its holder, who has not let go yet. */
  @ApiProperty()
  readonly revoked: boolean;
}

/** Locks that are held. */
export class LockListView {
  @ApiProperty({ type: [LockView] })
  readonly items: readonly LockView[];
  /** Whether there were more than the limit. */
  @ApiProperty()
  readonly isTruncated: boolean;
}

/** What became of a lock that was to be revoked. */
export class RevokedView {
  @ApiProperty()
  readonly name: string;
  /** `revoked`: its holder is told, and nobody is granted the lock before it lets go; `deleted`, with `force=true`: of a foreign client, or revoked before. */
  @ApiProperty({ enum: ['revoked', 'deleted'] })
  readonly outcome: 'revoked' | 'deleted';
}

/** The view of a lock; `now` is this replica's time, in ms. */
export function toLockView(lock: LockState, now: number): LockView {
  const { name, holder, heldForMs, remainingMs, queued, revoked } = lock;
  return {
    name,
    holder: holder && { process: holder.process, label: holder.label },
    since: heldForMs === undefined ? null : new Date(now - heldForMs).toISOString(),
    heldForMs: heldForMs ?? null,
    remainingMs: remainingMs ?? null,
    queued,
    revoked,
  };
}
