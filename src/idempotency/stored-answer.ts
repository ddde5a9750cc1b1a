import { StreamableFile } from '@nestjs/common';
import type { StoredAnswer } from './idempotency-store.js';

/** The largest body that is kept, in bytes of JSON. */
export const MAX_STORED_BODY_BYTES = 256 * 1024;

/** The headers that belong to an answer; others belong to its transport, its moment or its replica. */
export const STORED_HEADERS = [
  'content-type',
  'content-language',
  'content-location',
  'etag',
  'last-modified',
  'link',
  'location',
  'preference-applied',
] as const;

// They say "try again": a repetition must be a new try.
const passing = new Set([408, 423, 425, 429]);

/** Whether an answer with this status is the last word: not 408, 423, 425, 429, nor 5xx. */
export function isFinal(status: number): boolean {
  return status < 500 && !passing.has(status);
}

/**
 * The body of an answer as it is kept, null for none; undefined where it cannot be kept: a stream,
 * bytes, or more than 256 KiB of JSON.
 */
export function storedBody(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return null;
  if (value instanceof StreamableFile || ArrayBuffer.isView(value) || isStream(value)) {
    return undefined;
  }
  const json: string | undefined = JSON.stringify(value);
  return json !== undefined && fitsStore(json) ? json : undefined;
}

/** Whether a body of this JSON, null for none, is small enough to be kept: 256 KiB. */
export function fitsStore(json: string | null): boolean {
  return json === null || Buffer.byteLength(json) <= MAX_STORED_BODY_BYTES;
}

/** The value that a handler would have returned for this answer. */
export function bodyOf({ body }: StoredAnswer): unknown {
  return body === null ? undefined : JSON.parse(body);
}

function isStream(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ['pipe', 'getReader', Symbol.asyncIterator].some((sign) => sign in value);
}
