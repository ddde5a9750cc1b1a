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

/** A fresh token: never used for two attempts, so no reply can be mistaken for another's. */
export function newToken(owner: Owner): string {
  const label = encodeURIComponent(owner.label).replaceAll('.', '%2E');
  return `${randomBytes(15).toString('base64url')}.${owner.process}.${label}`;
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
