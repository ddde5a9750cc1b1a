import { describe, expect, it } from '@jest/globals';
import { checkHistory } from './check-history.js';
import type { AskEvent, EnterEvent, FaultEvent, HistoryEvent } from './history.js';

interface HoldShape {
  readonly id: string;
  readonly name?: string;
  readonly process?: string;
  readonly askedAt?: number;
  readonly enteredAt: number;
  /** undefined: it never leaves. */
  readonly leftAt: number | undefined;
  readonly fence: bigint;
  /** How long the lease says it is valid, from the entry on. */
  readonly validMs?: number;
  readonly why?: 'released' | 'lost';
}

function ask(id: string, at: number, more: Partial<AskEvent> = {}): AskEvent {
  return { kind: 'ask', at, id, name: 'doc:1', process: `p-${id}`, patienceMs: 1_000, ...more };
}

function hold(shape: HoldShape): HistoryEvent[] {
  const { id, enteredAt, leftAt, fence, validMs = 1_000, why = 'released' } = shape;
  const { askedAt = enteredAt - 1, name = 'doc:1', process = `p-${id}` } = shape;
  const enter: EnterEvent = {
    kind: 'enter',
    at: enteredAt,
    id,
    fence,
    until: enteredAt + validMs,
    ttlMs: validMs,
  };
  const exit: HistoryEvent[] = leftAt === undefined ? [] : [{ kind: 'exit', at: leftAt, id, why }];
  return [ask(id, askedAt, { name, process }), enter, ...exit];
}

function write(id: string, at: number, fence: bigint, accepted: boolean): HistoryEvent {
  return { kind: 'write', at, id, name: 'doc:1', fence, accepted };
}

function fault(at: number, rest: Partial<FaultEvent>): FaultEvent {
  return { kind: 'fault', at, what: 'a fault', ...rest };
}

const a = (shape: Partial<HoldShape> = {}) =>
  hold({ id: 'a', enteredAt: 10, leftAt: 100, fence: 5n, ...shape });
const b = (shape: Partial<HoldShape> = {}) =>
  hold({ id: 'b', enteredAt: 110, leftAt: 200, fence: 6n, ...shape });

const rules = (...events: HistoryEvent[]) =>
  checkHistory(events).violations.map(({ rule }) => rule);

describe('a right history', () => {
  it('is accepted and summed up', () => {
    const history = [
      ...a({ why: 'lost' }),
      ...b(),
      write('a', 50, 5n, true),
      write('b', 120, 6n, true),
      write('a', 130, 5n, false),
      fault(140, { what: 'request lost' }),
    ];
    expect(checkHistory(history)).toEqual({
      asks: 2,
      grants: 2,
      losses: 1,
      accepted: 2,
      refused: 1,
      faults: { 'request lost': 1 },
      excusedOverlaps: 0,
      excusedFences: 0,
      violations: [],
    });
  });

  it('may have two holders at once under two names', () => {
    expect(rules(...a(), ...b({ name: 'doc:2', enteredAt: 20, fence: 1n }))).toEqual([]);
  });

  it('may have a holder that is frozen beyond its lease while the next one works', () => {
    expect(rules(...a({ validMs: 50, leftAt: 150, why: 'lost' }), ...b())).toEqual([]);
  });

  it('may hand over in the very instant of the exit', () => {
    expect(rules(...a(), ...b({ enteredAt: 100, askedAt: 11 }))).toEqual([]);
  });

  it('may have a late grant of a short lease that has proven nothing', () => {
    expect(rules(...a(), ...b({ askedAt: 9, enteredAt: 50, validMs: 0, leftAt: 50 }))).toEqual([]);
  });
});

describe('two holders at once', () => {
  it('are found where both were proven', () => {
    expect(rules(...a(), ...b({ enteredAt: 90 }))).toEqual(['overlap']);
  });

  it('are found where the first was proven again after its entry', () => {
    const proven: HistoryEvent = { kind: 'proven', at: 55, id: 'a', until: 150, ttlMs: 95 };
    const late = a({ validMs: 50, leftAt: 300 });
    expect(rules(...late, ...b())).toEqual([]);
    expect(rules(...late, proven, ...b())).toEqual(['overlap']);
  });

  it('are found where a third one lies between them', () => {
    const long = a({ leftAt: 500, validMs: 1_000 });
    const short = hold({ id: 'c', enteredAt: 210, leftAt: 220, fence: 7n });
    expect(rules(...long, ...b(), ...short)).toEqual(['overlap', 'overlap']);
  });

  it('end with the death of their process, and not before', () => {
    const died = (at: number): HistoryEvent => ({ kind: 'died', at, process: 'p-a' });
    expect(rules(...a({ leftAt: undefined }), died(105), ...b())).toEqual([]);
    expect(rules(...a({ leftAt: undefined }), died(115), ...b())).toEqual(['overlap']);
  });

  it.each([
    ['a lost key', { losesLocks: true }],
    ['a clock that jumped ahead', { serverClockMs: 60_000 }],
  ])('are counted, not reported, after %s', (_what, broken) => {
    const report = checkHistory([...a(), fault(60, broken), ...b({ enteredAt: 90 })]);
    expect(report).toMatchObject({ excusedOverlaps: 1, violations: [] });
  });

  it('are excused for no longer than the last renewal before the fault lasts', () => {
    const broken = fault(60, { losesLocks: true });
    const next = b({ enteredAt: 90, leftAt: 400 });
    const proven = (until: number): HistoryEvent => {
      return { kind: 'proven', at: 100, id: 'a', until, ttlMs: 50 };
    };
    const short = a({ validMs: 50, leftAt: 400 });
    expect(rules(...short, broken, proven(110), ...next)).toEqual([]);
    expect(rules(...short, broken, proven(111), ...next)).toEqual(['overlap']);
  });

  it.each([
    ['a fault that breaks nothing', fault(60, {})],
    ['a clock that was set back', fault(60, { serverClockMs: -60_000 })],
    ['a key that was lost before', fault(5, { losesLocks: true })],
    ['a key that was lost after', fault(91, { losesLocks: true })],
    ['a lost fence alone', fault(60, { losesFences: true })],
  ])('are not excused by %s', (_what, event) => {
    expect(rules(...a(), event, ...b({ enteredAt: 90 }))).toEqual(['overlap']);
  });
});

describe('fences', () => {
  it.each([5n, 4n])('must rise: %s after 5 is found', (fence) => {
    expect(rules(...a(), ...b({ fence }))).toEqual(['fence']);
  });

  it('must rise above all earlier ones, not only the last', () => {
    const c = hold({ id: 'c', enteredAt: 210, leftAt: 220, fence: 7n });
    expect(rules(...a({ fence: 8n }), ...b({ fence: 9n }), ...c)).toEqual(['fence']);
  });

  it('must hold where proven intervals may overlap', () => {
    const broken = fault(60, { losesLocks: true });
    expect(rules(...a(), broken, ...b({ enteredAt: 90, fence: 4n }))).toEqual(['fence']);
  });

  it('may be in the order of the grants where two entered in another one after a lost key', () => {
    const broken = fault(60, { losesLocks: true });
    const overtaken = b({ askedAt: 5, enteredAt: 90, fence: 4n });
    expect(rules(...a(), broken, ...overtaken)).toEqual([]);
    expect(rules(...a(), ...b({ askedAt: 5, fence: 4n }))).toEqual(['fence']);
    expect(rules(...a(), broken, ...b({ askedAt: 5, enteredAt: 90, fence: 5n }))).toEqual([
      'fence',
    ]);
  });

  it('may fall where one fault lost the fence and left a clock behind, which is counted apart', () => {
    const failover = { losesLocks: true, losesFences: true, serverClockMs: -500 };
    const report = checkHistory([...a(), fault(105, failover), ...b({ fence: 4n })]);
    expect(report).toMatchObject({ excusedFences: 1, violations: [] });
  });

  it('may fall where the clock had been set back before the fence was lost', () => {
    const report = checkHistory([
      fault(5, { serverClockMs: -500 }),
      ...a(),
      fault(105, { losesFences: true }),
      ...b({ fence: 4n }),
    ]);
    expect(report).toMatchObject({ excusedFences: 1, violations: [] });
  });

  it.each([
    ['the clock went on', [fault(105, { losesFences: true })]],
    ['the fence was kept', [fault(105, { losesLocks: true, serverClockMs: -500 })]],
    [
      'the clock was behind by less than the time that has passed',
      [fault(105, { losesFences: true, serverClockMs: -20 })],
    ],
    [
      'the clock had come back',
      [
        fault(4, { serverClockMs: -500 }),
        fault(6, { serverClockMs: 500 }),
        fault(105, { losesFences: true }),
      ],
    ],
    ['the fence was lost later', [fault(150, { losesFences: true, serverClockMs: -500 })]],
  ] as const)('may not fall where %s', (_what, faults) => {
    expect(rules(...a(), ...faults, ...b({ fence: 4n }))).toEqual(['fence']);
  });
});

describe('the protected resource', () => {
  it('must not accept an older fence after a newer one', () => {
    expect(rules(...a(), ...b(), write('b', 120, 6n, true), write('a', 130, 5n, true))).toEqual([
      'write',
    ]);
  });

  it('must not refuse for nothing', () => {
    expect(rules(...a(), write('a', 50, 5n, false))).toEqual(['refusal']);
  });

  it('must be given the fence of the hold, and of one that exists', () => {
    expect(rules(...a(), write('a', 50, 6n, true))).toEqual(['malformed']);
    expect(rules(write('nobody', 50, 6n, true))).toEqual(['malformed']);
  });
});

describe('an ask', () => {
  it('must have an answer', () => {
    expect(rules(ask('a', 1))).toEqual(['unanswered']);
  });

  it('needs none of a process that died', () => {
    expect(rules(ask('a', 1), { kind: 'died', at: 2, process: 'p-a' })).toEqual([]);
    expect(rules(ask('a', 1), { kind: 'died', at: 2, process: 'p-b' })).toEqual(['unanswered']);
    expect(rules({ kind: 'died', at: 0, process: 'p-a' }, ask('a', 1))).toEqual(['unanswered']);
  });

  it.each(['busy', 'timed-out', 'unavailable', 'aborted', 'lost', 'incomplete'] as const)(
    'may be told %s, in time',
    (answer) => {
      const holder = a({ enteredAt: 2, leftAt: 9_000, validMs: 9_000 });
      const told = (at: number): HistoryEvent => ({ kind: 'told', at, id: 'w', answer });
      expect(rules(...holder, ask('w', 3), told(1_003))).toEqual([]);
      expect(rules(...holder, ask('w', 3), told(1_004))).toEqual(['late answer']);
    },
  );

  it('must be served in time', () => {
    expect(rules(...a({ enteredAt: 1_500, leftAt: 1_600, askedAt: 1 }))).toEqual(['late answer']);
  });

  it('is not late by the time its process was stopped', () => {
    const late = a({ enteredAt: 1_500, leftAt: 1_600, askedAt: 1 });
    const paused = (process: string): HistoryEvent => ({
      kind: 'paused',
      at: 0,
      until: 600,
      process,
    });
    expect(rules(paused('p-a'), ...late)).toEqual([]);
    expect(rules(paused('p-b'), ...late)).toEqual(['late answer']);
  });

  it('must not be told busy of a lock that nobody has', () => {
    const told = (answer: 'busy' | 'timed-out', at: number): HistoryEvent[] => [
      { ...ask('w', at - 6_000), patienceMs: 10_000 },
      { kind: 'told', at, id: 'w', answer },
    ];
    const early: HistoryEvent = { kind: 'told', at: 4_990, id: 'w', answer: 'busy' };
    expect(rules(ask('w', 4_980), early)).toEqual([]); // what came before the history is not known
    const holder = a({ enteredAt: 10_000, leftAt: 19_000, validMs: 20_000 });
    expect(rules(...holder, ...told('timed-out', 30_000))).toEqual(['unexplained busy']);
    expect(rules(...holder, ...told('busy', 30_000))).toEqual(['unexplained busy']);
    expect(rules(...holder, ...told('timed-out', 21_000))).toEqual([]);
    expect(rules(...holder, fault(12_000, {}), ...told('busy', 30_000))).toEqual([]);
    // A set may have one of its locks while it waits for another.
    const part: HistoryEvent[] = [
      ask('s', 20_000, { inSet: true, patienceMs: 9_000 }),
      { kind: 'told', at: 28_000, id: 's', answer: 'incomplete' },
    ];
    expect(rules(...holder, ...part, ...told('timed-out', 30_000))).toEqual([]);
    // The key of a lost lease lives until it is let go, or to its end.
    const lost = a({ enteredAt: 10_000, leftAt: 12_000, why: 'lost' });
    const letGo = (at: number): HistoryEvent => ({ kind: 'let-go', at, id: 'a' });
    expect(rules(...lost, ...told('busy', 30_000))).toEqual([]);
    expect(rules(...lost, letGo(26_000), ...told('busy', 30_000))).toEqual([]);
    expect(rules(...lost, letGo(18_000), ...told('busy', 30_000))).toEqual(['unexplained busy']);
  });
});

describe('the end', () => {
  it('must find nobody inside', () => {
    expect(rules(...a({ leftAt: undefined }))).toEqual(['still inside']);
  });

  it('must find nothing left behind', () => {
    expect(rules(...a(), { kind: 'left', at: 900, what: 'a timer' })).toEqual(['left behind']);
  });
});

describe('a history that contradicts itself', () => {
  const exit: HistoryEvent = { kind: 'exit', at: 300, id: 'a', why: 'released' };
  it.each([
    ['an ask twice', [...a(), ask('a', 500)]],
    ['two answers', [...a(), { kind: 'told', at: 12, id: 'a', answer: 'busy' }]],
    [
      'an exit without an entry',
      [ask('a', 1), exit, { kind: 'told', at: 301, id: 'a', answer: 'busy' }],
    ],
    ['an exit twice', [...a(), exit]],
    ['a lease let go that was not lost', [...a(), { kind: 'let-go', at: 400, id: 'a' }]],
    ['a hold that nobody asked for', [exit]],
    [
      'a hold of the dead',
      [...a({ leftAt: undefined }), { kind: 'died', at: 200, process: 'p-a' }, exit],
    ],
  ] as const)('is found: %s', (_what, events) => {
    expect(rules(...(events as readonly HistoryEvent[]))).toContain('malformed');
  });
});
