/** The shortest rest, in ms: a server that refuses a key for no time at all means "not now", not "again at once". */
export const LEAST_REST_MS = 1_000;

/** The longest rest that is believed: a reset next week is, one in the year 9999 is not. In ms. */
export const MOST_REST_MS = 31 * 86_400_000;

/**
 * How long a server asks to be left alone, in ms: `Retry-After` in seconds or as an HTTP date (compared
 * with the answer's own `Date`, so that no clock of ours is in it); at least a second, at most 31 days.
 * Undefined where it does not say.
 */
export function retryAfterMs(
  retryAfter: string | null | undefined,
  date: string | null | undefined,
): number | undefined {
  const text = retryAfter?.trim();
  if (!text) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(text)) return within(Number(text) * 1_000);
  if (!/[a-z]/i.test(text)) return undefined; // Date.parse takes all sorts of numbers for dates
  const until = Date.parse(text);
  const now = Date.parse(date ?? '');
  if (Number.isNaN(until)) return undefined;
  return within(until - (Number.isNaN(now) ? Date.now() : now));
}

function within(ms: number): number {
  return Math.min(Math.max(LEAST_REST_MS, Math.ceil(ms)), MOST_REST_MS);
}
