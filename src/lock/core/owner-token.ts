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

const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

/** Random bytes from a stock that is filled by one call for many: a call of its own costs more than the rest of a token. */
function randomPart(bytes: number): string {
  if (pool.length < bytes) pool = randomBytes(POOL_BYTES);
  const part = pool.subarray(0, bytes);
  pool = pool.subarray(bytes);
  return part.toString('base64url');
}

/** A fresh token: never used for two attempts, so no reply can be mistaken for another's. */
export function newToken(owner: Owner): string {
  const label = encodeURIComponent(owner.label).replaceAll('.', '%2E');
  return `${randomPart(15)}.${owner.process}.${label}`;
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
