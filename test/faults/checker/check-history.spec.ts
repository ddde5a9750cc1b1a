import { describe, expect, it } from '@jest/globals';
import { checkHistory } from './check-history.js';
import { a, ask, b, fault, hold, rules, write } from './histories.spec-support.js';
import type { HistoryEvent } from './history.js';

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
