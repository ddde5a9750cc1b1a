/** The messages of etcd.proto as the loader gives and takes them: 64-bit numbers as decimal strings. */
export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly createRevision: string;
  readonly modRevision: string;
  /** '0' where the key belongs to no lease. */
  readonly lease: string;
}

/** One key, or all from `key` up to but not including `rangeEnd`. */
export interface KeyRange {
  readonly key: Buffer;
  readonly rangeEnd?: Buffer | undefined;
}

export interface RangeRequest extends KeyRange {
  readonly limit?: number;
  readonly sortOrder?: 'ASCEND';
  readonly sortTarget?: 'CREATE';
}

export interface RangeReply {
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

export type Compare = KeyRange & { readonly result?: 'EQUAL' | 'GREATER' } & (
    | { readonly target: 'CREATE'; readonly createRevision: string }
    | { readonly target: 'MOD'; readonly modRevision: string }
  );

export type RequestOp =
  | { readonly range: RangeRequest }
  | {
      readonly put: {
        readonly key: Buffer;
        readonly value: Buffer;
        readonly lease?: string;
        readonly ignoreLease?: boolean;
      };
    }
  | { readonly deleteRange: KeyRange & { readonly prevKv?: boolean } };

export interface ResponseOp {
  readonly range?: RangeReply | null;
  readonly deleteRange?: { readonly deleted: string; readonly prevKvs: readonly KeyValue[] } | null;
}

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnReply {
  readonly header: { readonly revision: string };
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface WatchCreate extends KeyRange {
  readonly watchId: string;
  readonly startRevision?: string | undefined;
  readonly filters?: readonly ('NOPUT' | 'NODELETE')[];
}

export type WatchRequest =
  { readonly create: WatchCreate } | { readonly cancel: { readonly watchId: string } };

export interface WatchReply {
  readonly watchId: string;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly events: readonly { readonly kv: KeyValue }[];
}

/** What each call takes and gives; the streams per message. */
export interface EtcdCalls {
  'KV/Txn': [TxnRequest, TxnReply];
  'KV/Range': [RangeRequest, RangeReply];
  'Lease/LeaseGrant': [
    { readonly ttl: number; readonly id: string },
    { readonly id: string; readonly ttl: string },
  ];
  'Lease/LeaseRevoke': [{ readonly id: string }, object];
  'Lease/LeaseKeepAlive': [{ readonly id: string }, { readonly id: string; readonly ttl: string }];
  'Lease/LeaseTimeToLive': [
    { readonly id: string },
    { readonly ttl: string; readonly grantedTtl: string },
  ];
  'Watch/Watch': [WatchRequest, WatchReply];
  'Maintenance/Status': [object, { readonly version: string }];
}
