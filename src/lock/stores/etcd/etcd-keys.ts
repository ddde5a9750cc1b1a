import { createHash } from 'node:crypto';
import type { KeyRange, KeyValue } from './etcd-messages.js';

/**
 * Where things lie: `<prefix><name>/<token>` is a lock, as etcd's own mutex recipe has it, so that
 * `etcdctl lock <prefix><name>` and this store exclude each other. Helper keys begin with a brace,
 * which no prefix and no name holds.
 */
export class EtcdKeys {
  constructor(private readonly prefix: string) {}

  /** All keys of locks. */
  get all(): KeyRange {
    return startingWith(this.prefix);
  }

  lock(name: string, token: string): Buffer {
    return Buffer.from(`${this.prefix}${encode(name)}/${token}`);
  }

  /** The keys of one lock: its holder's, and those of foreign clients that wait. */
  locks(name: string): KeyRange {
    return startingWith(`${this.prefix}${encode(name)}/`);
  }

  place(name: string, process: string): Buffer {
    return Buffer.from(`{${this.prefix}${encode(name)}}:line/${process}`);
  }

  /** The places in the line for one lock. */
  line(name: string): KeyRange {
    return startingWith(`{${this.prefix}${encode(name)}}:line/`);
  }

  /** Where a process is told what was revoked. */
  mailbox(process: string): Buffer {
    return Buffer.from(`{${this.prefix}}:revoked/${process}`);
  }

  /** The name and the token of a lock's key; undefined for a key that is none. */
  read({ key }: KeyValue): { name: string; token: string } | undefined {
    const text = key.toString();
    const slash = text.lastIndexOf('/');
    if (slash <= this.prefix.length || text.startsWith('{')) return undefined;
    return { name: decode(text.slice(this.prefix.length, slash)), token: lastPart(key) };
  }
}

/** What stands after the last slash: a token, or a process. */
export function lastPart(key: Buffer): string {
  const text = key.toString();
  return text.slice(text.lastIndexOf('/') + 1);
}

/**
 * The lease of a token, or of a place: a number that everybody who knows the token can compute, so that
 * a lost reply to a grant hides nothing. 63 bits of a hash; tokens are random and never used twice.
 */
export function leaseIdOf(owner: string | Buffer): string {
  const hash = createHash('sha256').update(owner).digest().readBigUInt64BE();
  return String(hash & 0x7fff_ffff_ffff_ffffn || 1n);
}

/** A slash ends a name; the percent sign stands for itself, since names are escaped already. */
function encode(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F');
}

function decode(name: string): string {
  return name.replaceAll('%2F', '/').replaceAll('%25', '%');
}

function startingWith(text: string): KeyRange {
  const key = Buffer.from(text);
  if (key.length === 0) return { key: Buffer.of(0), rangeEnd: Buffer.of(0) };
  const rangeEnd = Buffer.from(key);
  rangeEnd[rangeEnd.length - 1] = (rangeEnd.at(-1) as number) + 1; // no byte of UTF-8 is 255
  return { key, rangeEnd };
}
