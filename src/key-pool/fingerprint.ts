import { createHash } from 'node:crypto';

/** What stands for a secret key wherever one must be named: twelve digits of its SHA-256. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}
