import { describe, expect, it } from '@jest/globals';
import type { AcquireReply, StoredLock } from '../../core/lock-store.js';
import { heldByQuorum } from './holders.js';
import { type Answer, type Answers, settleEarly } from './settle-early.js';
import { agreed, busyReplyOf, releaseVerdict, renewVerdict, roundVerdict } from './verdicts.js';

/** One letter per node: g(ranted), b(usy), x (trouble), - (no answer yet). */
function answers<T>(letters: string, values: Readonly<Record<string, T>>): Answers<T> {
  const all = letters.split('').map((letter): Answer<T> | undefined => {
    if (letter === '-') return undefined;
    return letter === 'x' ? { trouble: new Error('away') } : { value: values[letter] as T };
  });
  return { all, pending: all.filter((answer) => !answer).length };
}

const busy = (remainingMs: number | undefined): AcquireReply => ({
  status: 'busy',
  remainingMs,
  heldForMs: 5,
  queued: 0,
  ticket: undefined,
});
const replies: Record<string, AcquireReply> = {
  g: { status: 'granted', fence: 1n, storeTimeMs: 1 },
  b: busy(100),
};

describe('a round of tries', () => {
  it.each([
    ['ggg--', 'won'],
    ['gg---', undefined],
    ['ggxx-', undefined],
    ['ggb--', undefined],
    // An even split, and one node that is dead: decided at once.
    ['ggbbx', 'busy'],
    ['bbb--', 'busy'],
    ['gbbb-', 'busy'],
    ['xxx--', 'none'],
    ['ggxxx', 'none'],
    ['bbxx-', undefined],
    ['bbxxx', 'none'],
    ['gb-', undefined],
    ['gbb', 'busy'],
    ['gbx', 'busy'],
    ['gg-', 'won'],
  ])('with %s is %s', (letters, verdict) => {
    expect(roundVerdict(answers(letters, replies))).toBe(verdict);
  });

  it('tells the losers when enough nodes will be free', () => {
    const values = { ...replies, a: busy(10), c: busy(200), f: busy(undefined) };
    // Three are needed and one is free: the second of those that are held.
    expect(busyReplyOf(answers('gabcx', values)).remainingMs).toBe(100);
    expect(busyReplyOf(answers('fffff', values)).remainingMs).toBeUndefined();
    expect(busyReplyOf(answers('acb', values))).toMatchObject({ remainingMs: 100, heldForMs: 5 });
  });
});

describe('other questions', () => {
  it.each([
    ['ttt--', true],
    ['tt---', undefined],
    ['fff--', false],
    ['tfxx-', false],
    ['ttfx-', undefined],
  ])('with %s are answered %s', (letters, verdict) => {
    expect(agreed(answers(letters, { t: true, f: false }))).toBe(verdict);
  });

  it.each([
    ['rrr--', 'released'],
    ['nnn--', 'not-held'],
    ['rrnx-', undefined],
    ['rrnxx', 'unknown'],
    ['rrnnn', 'not-held'],
  ])('a release with %s is %s', (letters, verdict) => {
    expect(releaseVerdict(answers(letters, { r: 'released', n: 'not-held' }))).toBe(verdict);
  });

  it.each([
    ['rrr--', ['renewed']],
    ['rr---', undefined],
    ['rrxxx', ['unknown']],
    ['nnn--', ['not-owner']],
    ['nnv--', ['revoked']],
    ['rrruu', ['renewed']],
    ['rruun', ['unknown']],
  ])('a renewal with %s is %j', (letters, verdict) => {
    const values = { r: ['renewed'], n: ['not-owner'], v: ['revoked'], u: ['unknown'] } as const;
    expect(renewVerdict(answers(letters, values), 1)).toEqual(verdict);
  });

  it('each renewal of a batch is decided for itself', () => {
    const values = { a: ['renewed', 'not-owner'], b: ['renewed', 'renewed'] } as const;
    expect(renewVerdict(answers('aab', values), 2)).toEqual(['renewed', 'not-owner']);
    expect(renewVerdict(answers('ab-', values), 2)).toBeUndefined();
  });
});

describe('the holder of a lock', () => {
  const part = (token: string, rest: Partial<StoredLock> = {}): StoredLock => ({
    token,
    remainingMs: 100,
    fence: 7n,
    heldForMs: 1,
    queued: 0,
    revoked: false,
    ...rest,
  });

  it('is whom a quorum names', () => {
    const [a, b] = [part('a'), part('b')];
    expect(heldByQuorum([a, a, a, b, null], 5)?.token).toBe('a');
    expect(heldByQuorum([a, a, b, b, null], 5)).toBeNull();
    expect(heldByQuorum([a, a, null], 5)).toBeUndefined(); // two nodes have not answered
    expect(heldByQuorum([null, null, null], 5)).toBeNull();
    expect(heldByQuorum([null, null], 5)).toBeUndefined(); // three may hold it
  });

  it('is so until fewer than a quorum have it, with the fence that most have', () => {
    const parts = [
      part('a', { remainingMs: 50, fence: 9n }),
      part('a', { remainingMs: 70 }),
      part('a', { remainingMs: 90, revoked: true }),
    ];
    expect(heldByQuorum(parts, 3)).toMatchObject({ remainingMs: 70, fence: 7n, revoked: false });
    expect(heldByQuorum([...parts.slice(1), part('a', { revoked: true })], 3)?.revoked).toBe(true);
  });
});

describe('settling early', () => {
  it('waits for nobody who could not change the verdict', async () => {
    const never = new Promise<boolean>(() => undefined);
    const no = Promise.reject<boolean>(new Error('away'));
    expect(await settleEarly([Promise.resolve(true), never, Promise.resolve(true)], agreed)).toBe(
      true,
    );
    expect(await settleEarly([no, never, Promise.resolve(false)], agreed)).toBe(false);
  });
});
