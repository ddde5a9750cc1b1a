import { describe, expect, it } from '@jest/globals';
import { a, ask, fault, rules } from './histories.spec-support.js';
import type { HistoryEvent } from './history.js';

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
