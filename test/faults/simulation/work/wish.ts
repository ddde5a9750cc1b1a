import type { Random } from '../world/random.js';

/** The names that all simulated clients fight for. */
export const NAMES = ['doc:1', 'doc:2', 'job'] as const;

/** What a client wants to do next. */
export interface Wish {
  readonly call: 'acquire' | 'try' | 'run' | 'set' | 'revoke';
  /** Sorted, as a set of leases is. */
  readonly names: readonly string[];
  readonly options: {
    readonly ttlMs: number;
    readonly waitMs: number;
    readonly maxHoldMs: number;
    readonly commandTimeoutMs: number;
  };
  /** By when there must be an answer, on the process's clock. */
  readonly patienceMs: number;
  /** The caller gives up after so long. */
  readonly goneAfterMs: number | undefined;
  /** Pauses before each write, in ms. */
  readonly steps: readonly number[];
  /** Asks for a far longer TTL as soon as it has the lock. */
  readonly isHog: boolean;
  /** Never looks at its lease. */
  readonly isStubborn: boolean;
  /** Never releases it. */
  readonly forgets: boolean;
}

/** Late timers and the time of the calls themselves. */
const SLACK_MS = 60;

export function drawWish(random: Random): Wish {
  const call = random.pick([
    'acquire',
    'acquire',
    'acquire',
    'try',
    'run',
    'run',
    'set',
    'revoke',
  ] as const);
  const names = call === 'set' ? drawSet(random) : [drawName(random)];
  const ttlMs = random.pick([300, 1_000, 1_000, 3_000, 10_000, 30_000]);
  const isOneTry = call === 'try' || random.chance(0.3);
  const waitMs = isOneTry ? 0 : random.pick([50, 1_000, 4_000, 8_000]);
  const commandTimeoutMs = random.pick([100, 1_000]);
  const isHog = random.chance(0.1);
  const forgets = call === 'acquire' && random.chance(0.03);
  const maxHoldMs = forgets || random.chance(0.1) ? 1_500 : random.pick([600_000, Infinity]);
  const commandMs = Math.min(commandTimeoutMs, Math.floor(ttlMs / 3));
  return {
    call,
    names,
    options: { ttlMs, waitMs, maxHoldMs, commandTimeoutMs },
    patienceMs: waitMs + (names.length + 1) * commandMs + SLACK_MS,
    goneAfterMs: random.chance(0.1) ? random.between(0, 1_500) : undefined,
    steps: isHog ? [50, 1_500, 1_500] : drawSteps(random),
    isHog,
    isStubborn: random.chance(0.2),
    forgets,
  };
}

function drawName(random: Random): string {
  return random.pick([NAMES[0], NAMES[0], NAMES[0], NAMES[1], NAMES[2]]);
}

function drawSet(random: Random): readonly string[] {
  const left = random.pick(NAMES);
  return NAMES.filter((name) => name !== left).toSorted();
}

function drawSteps(random: Random): readonly number[] {
  const count = random.pick([1, 1, 2, 3]);
  return Array.from({ length: count }, () =>
    random.chance(0.15) ? random.between(500, 4_000) : random.between(1, 200),
  );
}
