import { randomBytes } from 'node:crypto';

/** What an owner token says of its holder. */
export interface Owner {
  /** Identifies the process: random, since every container's process id is 1. */
  readonly process: string;
  /** What people call the replica. */
  readonly label: string;
}

const form = /^[A-Za-z0-9_-]{16,}\.([A-Za-z0-9_-]+)\.([^.\s]*)$/;

/** A random identity for one process (or engine). */
export function newProcessId(): string {
  return randomBytes(6).toString('base64url');
}

/** Characters of base64url that make one token its own: 120 random bits. */
const RANDOM_LENGTH = 20;
const TOKENS_IN_STOCK = 256;

/**
 * What makes the tokens of one owner, each never used for two attempts, so that no reply can be mistaken
 * for another's. Their random characters come from a stock that is filled by one call for many: a call
 * for each, and its Buffer, cost the client a seventh of a lock.
 */
export function tokensOf({ process, label }: Owner): () => string {
  const end = `.${process}.${encodeURIComponent(label).replaceAll('.', '%2E')}`;
  let stock = '';
  let used = 0;
  return () => {
    if (used === stock.length) {
      stock = randomBytes((TOKENS_IN_STOCK * RANDOM_LENGTH * 6) / 8).toString('base64url');
      used = 0;
    }
    used += RANDOM_LENGTH;
    return stock.slice(used - RANDOM_LENGTH, used) + end;
  };
}

/** Who a token belongs to, or null for a foreign client's value. */
export function parseToken(token: string): Owner | null {
  const match = form.exec(token);
  if (!match) return null;
  try {
    return { process: match[1] ?? '', label: decodeURIComponent(match[2] ?? '') };
  } catch {
    return null;
  }
}
