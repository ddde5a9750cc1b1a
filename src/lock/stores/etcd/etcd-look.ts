import { type EtcdKeys, lastPart } from './etcd-keys.js';
import type { KeyValue, RequestOp, TxnReply } from './etcd-messages.js';

/** A lock's key and what its value says. */
export interface StoredKey {
  readonly token: string;
  readonly kv: KeyValue;
  readonly fence: bigint;
  readonly revoked: boolean;
  /** When it was taken, by the holder's wall clock; undefined for a foreign client's key. */
  readonly sinceMs: number | undefined;
  /** The whole TTL of its lease, in ms; undefined for a foreign client's key. */
  readonly lifeMs: number | undefined;
}

/** A process's place in the line. */
export interface StandingPlace {
  readonly process: string;
  readonly ticket: bigint;
  readonly kv: KeyValue;
}

/** One lock at one revision of the cluster. */
export interface Look {
  readonly revision: bigint;
  readonly holder: StoredKey | undefined;
  /** In the order of their tickets. */
  readonly line: readonly StandingPlace[];
}

/** What a transaction has to end with for `lookOf`. */
export function lookAt(keys: EtcdKeys, name: string): RequestOp[] {
  const holder = {
    ...keys.locks(name),
    limit: 1,
    sortOrder: 'ASCEND',
    sortTarget: 'CREATE',
  } as const;
  return [{ range: holder }, { range: keys.line(name) }];
}

/** What the last two answers of a transaction say. */
export function lookOf({ header, responses }: TxnReply): Look {
  const [holders, line] = responses.slice(-2).map(({ range }) => range?.kvs ?? []);
  const [first] = holders ?? [];
  return {
    revision: BigInt(header.revision),
    holder: first && storedKey(first),
    line: (line ?? []).map(standingPlace).sort((a, b) => (a.ticket < b.ticket ? -1 : 1)),
  };
}

/** The value of a lock's key: since when it is held, and the TTL of its lease where that is known. */
export function valueOf(sinceMs: number, lifeMs: number | undefined, revoked = false): Buffer {
  const life = lifeMs === undefined ? '' : ` ${lifeMs}`;
  return Buffer.from(`${revoked ? 'revoked' : 'held'} ${Math.floor(sinceMs)}${life}`);
}

export function storedKey(kv: KeyValue): StoredKey {
  const form = /^(held|revoked) (\d+)(?: (\d+))?$/;
  const [, state, since, life] = form.exec(kv.value.toString()) ?? [];
  return {
    token: lastPart(kv.key),
    kv,
    fence: BigInt(kv.createRevision),
    revoked: state === 'revoked',
    sinceMs: since === undefined ? undefined : Number(since),
    lifeMs: life === undefined ? undefined : Number(life),
  };
}

/** A place's ticket is the revision that it was taken with, or the older one that its process brought along. */
function standingPlace(kv: KeyValue): StandingPlace {
  const ticket = BigInt(kv.value.toString() || kv.createRevision);
  return { process: lastPart(kv.key), ticket, kv };
}
