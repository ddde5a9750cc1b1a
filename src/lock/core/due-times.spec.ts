import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueTimes } from './due-times.js';

const operation = fc.oneof(
  fc.record({ do: fc.constant('set' as const), item: fc.nat(20), at: fc.nat(50) }),
  fc.record({ do: fc.constant('delete' as const), item: fc.nat(20), at: fc.nat(50) }),
  fc.record({ do: fc.constant('take' as const), item: fc.nat(20), at: fc.nat(50) }),
);

describe('DueTimes', () => {
  it('agrees with a plain map on every sequence of operations', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const due = new DueTimes<number>();
        const model = new Map<number, number>();
        for (const { do: what, item, at } of operations) {
          if (what === 'set') {
            due.set(item, at);
            model.set(item, at);
          } else if (what === 'delete') {
            due.delete(item);
            model.delete(item);
          } else {
            const expected = [...model].filter(([, time]) => time <= at);
            const taken = due.take(at);
            expect([...taken].sort(byNumber)).toEqual(expected.map(([one]) => one).sort(byNumber));
            const times = taken.map((one) => model.get(one) ?? Infinity);
            expect(times).toEqual([...times].sort(byNumber)); // earliest first
            for (const [one] of expected) model.delete(one);
          }
          expect(due.size).toBe(model.size);
          expect(due.earliest()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        }
      }),
    );
  });

  it('rounds up, so that nothing is looked at before its time', () => {
    const due = new DueTimes<string>();
    due.set('a', 10.2);
    expect(due.take(10.9)).toEqual([]);
    expect(due.take(11)).toEqual(['a']);
  });
});

function byNumber(a: number, b: number): number {
  return a - b;
}
