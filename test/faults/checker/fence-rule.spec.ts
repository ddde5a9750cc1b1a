import { describe, expect, it } from '@jest/globals';
import { checkHistory } from './check-history.js';
import { a, b, fault, hold, rules } from './histories.spec-support.js';

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

  it('may be the same where the one that entered last was granted before a fault lost its fence', () => {
    const failover = { losesLocks: true, losesFences: true, serverClockMs: -500 };
    const second = b({ askedAt: 2, enteredAt: 90, fence: 5n });
    const report = checkHistory([fault(4, failover), ...a({ askedAt: 6 }), ...second]);
    expect(report).toMatchObject({ excusedFences: 1, violations: [] });
    const kept = fault(4, { losesLocks: true, serverClockMs: -500 });
    expect(rules(kept, ...a({ askedAt: 6 }), ...second)).toEqual(['fence']);
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
