import { describe, expect, it } from '@jest/globals';
import { fingerprintOf } from '../../../../src/key-pool/index.js';
import { BrokenPromises } from '../../checker/broken-promises.js';
import { cutQuestions } from '../cut-questions.js';
import { Journal, type Operation } from '../journal.js';
import type { Testimony } from '../testimony.js';
import { checkKeys, type KeyUse } from './key-rule.js';
import type { ModelRequest } from './model-server.js';
import { cutAfterAnswer, leasedUses, provenUses } from './proven-uses.js';

const LEASE_MS = 15_000;

const use = (id: string, from: number, until: number, key = 'k'): KeyUse => {
  return { id, key, askedAt: from - 10, from, until };
};
const judged = (uses: readonly KeyUse[], limit = 1, lostAt?: number) => {
  const loss = { kind: 'fault' as const, what: 'FLUSHALL', losesLocks: true };
  const broken = new BrokenPromises(lostAt === undefined ? [] : [{ ...loss, at: lostAt }]);
  return checkKeys(uses, limit, LEASE_MS, broken);
};

describe('the rule of keys', () => {
  it('accepts one after the other, and as many at once as may', () => {
    expect(judged([use('a', 0, 100), use('b', 100, 200)]).violations).toEqual([]);
    expect(judged([use('a', 0, 100), use('b', 50, 200, 'other')]).violations).toEqual([]);
    const two = judged([use('a', 0, 100), use('b', 50, 200), use('c', 100, 200)], 2);
    expect(two).toEqual({ mostAtOnce: 2, excused: 0, violations: [] });
  });

  it('finds one too many', () => {
    const uses = [use('a', 0, 100), use('b', 50, 200), use('c', 99, 300)];
    expect(judged(uses, 2).violations).toEqual([expect.stringMatching(/used by 3 at once.*c \(/)]);
    expect(judged([uses[1]!, uses[0]!]).violations).toHaveLength(1); // whatever the order of the list
  });

  it('excuses those whom the store forgot, for one lease and no longer', () => {
    const uses = [use('a', 0, 10_000), use('b', 6_000, 7_000)];
    expect(judged(uses, 1, 5_000)).toMatchObject({ excused: 1, violations: [] });
    expect(judged(uses, 1, -1_000).violations).toHaveLength(1); // before both
    expect(judged(uses, 1, 6_500).violations).toHaveLength(1); // after both
    const long = [use('a', 0, 5_001 + LEASE_MS), use('b', 6_000, 7_000)];
    expect(judged(long, 1, 5_000).violations).toHaveLength(1);
    const three = [use('a', 0, 10_000), use('b', 6_000, 9_000), use('c', 7_000, 8_000)];
    expect(judged(three, 1, 5_000).violations).toHaveLength(1); // it was forgotten once, not twice
  });
});

const text = 'It is so [1], says answer 1.';
const request = (more: Partial<ModelRequest> = {}): ModelRequest => {
  const times = { receivedAt: 1_000, endedAt: 2_000 };
  return { replica: 'replica-1', key: 'sk', question: 'Why?', text, ...times, ...more };
};
const asked = (more: Partial<Operation> = {}): Operation => ({
  kind: 'ask-once',
  document: 'facts',
  replica: 'replica-1',
  sentAt: 900,
  endedAt: 2_100,
  status: 201,
  code: undefined,
  body: { answer: { text } },
  onceAsked: 'Why?',
  ...more,
});
function journalOf(operations: readonly Operation[]): Journal {
  const journal = new Journal();
  journal.operations.push(...operations);
  return journal;
}

describe('what is proven', () => {
  it('is the time at the model of what the service has answered with', () => {
    expect(provenUses([request()], journalOf([asked()]))).toEqual([
      expect.objectContaining({
        key: fingerprintOf('sk'),
        askedAt: -2_000,
        from: 1_000,
        until: 2_000,
      }),
    ]);
  });

  it('is nothing of what was refused, aborted, or answered and never given', () => {
    const untold = asked({ status: undefined, body: undefined });
    expect(provenUses([request()], journalOf([untold]))).toEqual([]);
    expect(provenUses([request({ text: undefined })], journalOf([asked()]))).toEqual([]);
  });

  it('ends where its replica was frozen', () => {
    const journal = journalOf([asked()]);
    journal.outages.push({ replica: 'replica-1', why: 'SIGSTOP', from: 1_500, to: 1_900 });
    expect(provenUses([request()], journal)).toEqual([expect.objectContaining({ until: 1_500 })]);
    journal.outages.push({ replica: 'replica-1', why: 'SIGSTOP', from: 500, to: 1_001 });
    expect(provenUses([request()], journal)).toEqual([]);
  });

  it('is a lease from its grant to its release, or to the end of its last renewal', () => {
    const common = { name: 'llm', permit: 'abc', process: 'replica-1 (pid 1)' };
    const said: Testimony[] = [
      { ...common, kind: 'held', at: 1_000, until: 16_000, fence: 1n },
      { ...common, kind: 'held', at: 6_000, until: 21_000, fence: 1n },
      { ...common, kind: 'held', at: 7_000, until: 22_000, fence: 2n },
      { ...common, kind: 'left', at: 8_000, until: 22_000, fence: 2n },
      { ...common, kind: 'held', at: 0, until: 2_000, fence: 3n, permit: undefined },
    ];
    expect(leasedUses(said)).toEqual([
      expect.objectContaining({ key: 'abc', from: 1_000, until: 21_000 }),
      expect.objectContaining({ key: 'abc', from: 7_000, until: 8_000 }),
    ]);
  });
});

describe('a question that a kill cut', () => {
  it('is counted, and whether the model had answered it before', () => {
    const cut = asked({ status: undefined, body: undefined, endedAt: 2_600 });
    const journal = journalOf([cut]);
    const found = (sent = request()) => {
      const all = cutQuestions(journal);
      return { all: all.length, answered: cutAfterAnswer([sent], all).length };
    };
    expect(found()).toEqual({ all: 0, answered: 0 });
    journal.outages.push({ replica: 'replica-2', why: 'SIGKILL', from: 2_500, to: 3_000 });
    expect(found()).toEqual({ all: 0, answered: 0 });
    journal.outages.push({ replica: 'replica-1', why: 'SIGKILL', from: 2_500, to: 3_000 });
    expect(found()).toEqual({ all: 1, answered: 1 });
    expect(found(request({ endedAt: 2_501 }))).toEqual({ all: 1, answered: 0 });
  });
});
