import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueTimes, roundedDown } from './due-times.js';

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

  it('takes no more than it is asked for, and the rest the next time', () => {
    const due = new DueTimes<string>();
    for (const item of ['a', 'b', 'c']) due.set(item, 10);
    due.set('d', 5);
    expect(due.take(20, 3)).toEqual(['d', 'a', 'b']);
    expect(due.take(20, 3)).toEqual(['c']);
  });

  it('keeps nothing of items that were taken out long before their time', () => {
    const due = new DueTimes<number>();
    due.set(-1, 10);
    due.set(-2, 1e9); // never gone, so that there is always one to come
    for (let item = 0; item < 10_000; item += 1) {
      due.set(item, 1e6 + item);
      due.delete(item);
    }
    const { heap } = due as unknown as { readonly heap: readonly number[] };
    expect(heap.length).toBeLessThan(200);
    expect(due.take(1e9)).toEqual([-1, -2]);
  });

  it('rounds up, so that nothing is looked at before its time', () => {
    const due = new DueTimes<string>();
    due.set('a', 10.2);
    expect(due.take(10.9)).toEqual([]);
    expect(due.take(11)).toEqual(['a']);
  });
});

describe('roundedDown', () => {
  it('never goes beyond the time, nor further back than the span', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e12, noNaN: true }),
        fc.double({ min: 0.5, max: 1e8, noNaN: true }),
        (due, span) => {
          const rounded = roundedDown(due, span);
          expect(rounded).toBeLessThanOrEqual(due);
          expect(rounded).toBeGreaterThanOrEqual(due - span);
        },
      ),
    );
  });

  it('brings what has a smaller span to the times of what has a larger one', () => {
    expect(roundedDown(10_000, 2_000)).toBe(9_216);
    expect(roundedDown(9_300, 200)).toBe(9_216);
  });
});

function byNumber(a: number, b: number): number {
  return a - b;
}
