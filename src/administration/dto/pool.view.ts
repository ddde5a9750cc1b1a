import { ApiProperty } from '@nestjs/swagger';
import { type MemberState, type PoolState } from '../../key-pool/index.js';

const states = ['free', 'leased', 'resting', 'quarantined'] as const;

/** A key of the language model. Not the key itself: that goes to its server and nowhere else. */
export class PoolMemberView {
  /** The first twelve digits of its SHA-256. */
  @ApiProperty({ example: '2bd806c97f0e' })
  readonly fingerprint: string;
  /** `quarantined`: refused by its server, until it is readmitted. A key that rests or is quarantined may yet be in use. */
  @ApiProperty({ enum: states })
  readonly state: (typeof states)[number];
  /** Requests that use it now, of all replicas. */
  @ApiProperty({ type: 'integer' })
  readonly inUse: number;
  /** ISO 8601, by this replica's clock; null: it does not rest. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly restsUntil: string | null;
  /**
   * The status that it was answered with (`401` or `403` where it is quarantined, `429` where it was told to rest),
   * or which of its budgets is used up: `requests-per-minute`, `tokens-per-minute`.
   */
  @ApiProperty({ type: String, nullable: true })
  readonly why: string | null;
}

/** The keys of the language model as all replicas use them, and what this replica knows of their pool. */
export class PoolView {
  /** How many requests may use one key at once. */
  @ApiProperty({ type: 'integer' })
  readonly concurrency: number;
  /** Replicas with requests that wait for a key; one that died counts until it would be its turn. */
  @ApiProperty({ type: 'integer' })
  readonly queued: number;
  /** In the order of LLM_API_KEYS. */
  @ApiProperty({ type: [PoolMemberView] })
  readonly members: readonly PoolMemberView[];
}

/** The view of a pool; `now` is this replica's time, in ms. */
export function toPoolView({ concurrency, queued, members }: PoolState, now: number): PoolView {
  return { concurrency, queued, members: members.map((member) => toMemberView(member, now)) };
}

const restReasons = {
  told: '429',
  requests: 'requests-per-minute',
  tokens: 'tokens-per-minute',
} as const;

function toMemberView(member: MemberState, now: number): PoolMemberView {
  const { member: fingerprint, inUse, restsMs, restsWhy, quarantine } = member;
  return {
    fingerprint,
    state: stateOf(member),
    inUse,
    restsUntil: restsWhy === undefined ? null : new Date(now + restsMs).toISOString(),
    why: quarantine ?? (restsWhy === undefined ? null : restReasons[restsWhy]),
  };
}

function stateOf({ inUse, restsWhy, quarantine }: MemberState): PoolMemberView['state'] {
  if (quarantine !== undefined) return 'quarantined';
  if (restsWhy !== undefined) return 'resting';
  return inUse > 0 ? 'leased' : 'free';
}
