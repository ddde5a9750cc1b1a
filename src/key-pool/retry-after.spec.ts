import { describe, expect, it } from '@jest/globals';
import { LEAST_REST_MS, MOST_REST_MS, retryAfterMs } from './retry-after.js';

const date = 'Mon, 30 Nov 2026 04:00:00 GMT';

describe('Retry-After', () => {
  it.each([
    ['seconds', '30', 30_000],
    ['parts of a second', '1.5', 1_500],
    ['less than a second, which is one', '0.5', LEAST_REST_MS],
    ['zero, which is a second', '0', LEAST_REST_MS],
    ['a date, by the clock of the answer', 'Mon, 30 Nov 2026 04:01:30 GMT', 90_000],
    ['a date that has passed', 'Mon, 30 Nov 2026 03:00:00 GMT', LEAST_REST_MS],
    ['a reset a week away, not cut', String(7 * 86_400), 7 * 86_400_000],
    ['a date a week away, not cut', 'Mon, 07 Dec 2026 04:00:00 GMT', 7 * 86_400_000],
    ['an absurd number, capped', '99999999999', MOST_REST_MS],
    ['an absurd date, capped', 'Fri, 31 Dec 9999 23:59:59 GMT', MOST_REST_MS],
  ])('may be %s', (_what, text, expected) => {
    expect(retryAfterMs(text, date)).toBe(expected);
  });

  it.each([[''], [null], [undefined], ['soon'], ['-5'], ['1e3'], ['2026'.repeat(2) + '-01']])(
    'says nothing as %j',
    (text) => {
      expect(retryAfterMs(text, date)).toBeUndefined();
    },
  );

  it('goes by our clock where the answer has none', () => {
    const until = new Date(Date.now() + 60_000).toUTCString();
    expect(retryAfterMs(until, null)).toBeGreaterThan(50_000);
  });
});
