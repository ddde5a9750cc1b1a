import { IdempotencyKeyInvalidError } from './idempotency.errors.js';

const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,510})"$/;
const plain = /^[\w.~:/+=-]{1,255}$/;
const longest = 255;

/**
 * The key in the header's value: a quoted string as structured fields spell it (RFC 9651), or the same
 * without quotes where it needs none. `"a"` and `a` are one key.
 * @throws IdempotencyKeyInvalidError, also for two headers
 */
export function parseIdempotencyKey(header: unknown): string {
  if (typeof header !== 'string') throw new IdempotencyKeyInvalidError();
  const value = header.trim();
  if (plain.test(value)) return value;
  const key = quoted.exec(value)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined || key.length > longest) throw new IdempotencyKeyInvalidError();
  return key;
}
