import type { Client, connectivityState } from '@grpc/grpc-js';
import { LockOptionsError } from '../../core/lock.errors.js';
import type { EtcdClient } from './etcd-client.js';
import type { EtcdCertificate } from './etcd-credentials.js';

/** Whatever the library may do by itself is switched off, but coming back to a member that was away. */
const channelOptions = {
  'grpc.enable_retries': 0, // the engine alone repeats, and so it knows
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.keepalive_time_ms': 10_000, // etcd refuses clients that ping more often than every 5 s
  'grpc.keepalive_timeout_ms': 3_000,
};

/** The members of one cluster, a channel to each, and which of them is in use. */
export class EtcdMembers {
  private readonly all: readonly Client[];
  private current = 0;

  constructor(
    private readonly library: EtcdClient,
    endpoints: readonly URL[],
    shown?: EtcdCertificate,
  ) {
    const { Client: Channel, credentials } = library.grpc;
    this.all = endpoints.map(
      ({ host, protocol }) =>
        new Channel(
          host,
          protocol === 'https:'
            ? credentials.createSsl(null, shown?.key, shown?.cert)
            : credentials.createInsecure(),
          channelOptions,
        ),
    );
    for (const member of this.all) this.stateOf(member); // begins to connect
  }

  /** The member in use, or one that is connected where that one is not. */
  pick(): Client {
    const { CONNECTING, TRANSIENT_FAILURE } = this.library.grpc.connectivityState;
    const state = this.stateOf(this.inUse);
    if (state === TRANSIENT_FAILURE || state === CONNECTING) {
      this.current = this.nextReady() ?? this.current;
    }
    return this.inUse;
  }

  /** This one has failed, or says nothing: the next one is used, one that is connected if any is. */
  leave(member: Client): void {
    if (this.inUse !== member) return;
    this.current = this.nextReady() ?? (this.current + 1) % this.all.length;
  }

  close(): void {
    for (const member of this.all) member.close();
  }

  private get inUse(): Client {
    return this.all[this.current] as Client;
  }

  private nextReady(): number | undefined {
    const { READY } = this.library.grpc.connectivityState;
    const others = this.all.map((_one, step) => (this.current + 1 + step) % this.all.length);
    return others.find((index) => this.stateOf(this.all[index] as Client) === READY);
  }

  /** Also makes a channel that rests connect. */
  private stateOf(member: Client): connectivityState {
    return member.getChannel().getConnectivityState(true);
  }
}

/** @throws LockOptionsError unless every endpoint is `http://host:port`, `https://host:port` or `host:port` */
export function parseEndpoints(endpoints: readonly string[]): URL[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new LockOptionsError(
      'The etcd lock store has no endpoints. Pass those of all members, such as ["http://etcd-1:2379"].',
    );
  }
  return endpoints.map((endpoint) => {
    const text = /^https?:\/\//.test(endpoint) ? endpoint : `http://${endpoint}`;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url?.port || url.username || url.pathname !== '/') {
      throw new LockOptionsError(
        `The etcd endpoint ${JSON.stringify(endpoint)} is none. Write http://host:port (https:// where the members use TLS).`,
      );
    }
    return url;
  });
}
