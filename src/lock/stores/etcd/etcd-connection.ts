import type { Client, ClientDuplexStream, MethodDefinition, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../core/clock.js';
import { LockUnavailableError } from '../../core/lock.errors.js';
import { type EtcdClient, loadEtcdClient } from './etcd-client.js';
import { type EtcdClientCertificate, readCertificate } from './etcd-credentials.js';
import { EtcdMembers } from './etcd-members.js';
import type { EtcdCalls } from './etcd-messages.js';

type CallName = keyof EtcdCalls;

/** Where the members are, and what they are shown. */
export interface EtcdCluster {
  readonly endpoints: readonly URL[];
  readonly clientCertificate?: EtcdClientCertificate | undefined;
}

/** Messages to and from one member. */
export type EtcdStream<C extends CallName> = ClientDuplexStream<EtcdCalls[C][0], EtcdCalls[C][1]>;

/** gRPC's codes: the member does not answer, or cannot (no leader, stopping, disconnected). */
const MEMBER_TROUBLE: readonly number[] = [4, 14];
/** The member has refused, and nothing was done: not found, exists already, no rights, no space, wrong request. */
const REFUSED: readonly number[] = [3, 5, 6, 7, 8, 9, 11, 12, 16];

/**
 * Calls to the cluster. Each has a deadline, since members say nothing for seconds while there is no
 * leader, and is sent once, to one member; a member that fails or stays silent is left for the next.
 */
export class EtcdConnection {
  private opening: Promise<void> | undefined;
  private library: EtcdClient | undefined;
  private members: EtcdMembers | undefined;
  private inUse: Client | undefined;
  private isTroubled = false;
  private isClosed = false;

  constructor(
    private readonly cluster: EtcdCluster,
    private readonly callTimeoutMs: number,
    private readonly clock: Clock,
    /** The first answer after trouble, or from another member. */
    private readonly onReconnect: () => void,
  ) {}

  /** Loads the client library and begins to connect. @throws LockOptionsError where it is not installed, or the certificate cannot be read */
  open(): Promise<void> {
    this.opening ??= this.openOnce();
    return this.opening;
  }

  private async openOnce(): Promise<void> {
    const { endpoints, clientCertificate } = this.cluster;
    const shown = clientCertificate && (await readCertificate(clientCertificate));
    const library = await loadEtcdClient();
    this.library = library;
    if (!this.isClosed) this.members = new EtcdMembers(library, endpoints, shown);
  }

  /** One call, sent once. @throws LockUnavailableError */
  async call<C extends CallName>(
    name: C,
    request: EtcdCalls[C][0],
    lockName?: string,
  ): Promise<EtcdCalls[C][1]> {
    await this.open();
    const member = this.member(lockName);
    const { path, requestSerialize, responseDeserialize } = this.method(name);
    const options = { deadline: this.clock.now().wallMs + this.callTimeoutMs };
    return new Promise((resolve, reject) => {
      member.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        options,
        (error, reply) => {
          if (error) {
            this.failed(member, error);
            reject(unavailable(error, lockName));
          } else {
            this.answered();
            resolve(reply as EtcdCalls[C][1]);
          }
        },
      );
    });
  }

  /**
   * A stream to the member in use, which ends when that member loses its leader, or after `timeoutMs`.
   * Whoever opens it listens for its errors.
   */
  async stream<C extends CallName>(name: C, timeoutMs?: number): Promise<EtcdStream<C>> {
    await this.open();
    const member = this.member();
    const { path, requestSerialize, responseDeserialize } = this.method(name);
    const metadata = new (this.library as EtcdClient).grpc.Metadata();
    metadata.set('hasleader', 'true');
    const stream = member.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      metadata,
      timeoutMs === undefined ? {} : { deadline: this.clock.now().wallMs + timeoutMs },
    );
    stream.on('error', (error: ServiceError) => this.failed(member, error));
    return stream;
  }

  close(): void {
    this.isClosed = true;
    this.members?.close();
  }

  private member(lockName?: string): Client {
    if (this.isClosed || !this.members) {
      const why = 'the etcd lock store is closed';
      throw new LockUnavailableError(lockName, why, { mayHaveRun: false });
    }
    const member = this.members.pick();
    if (this.inUse && this.inUse !== member) this.isTroubled = true;
    this.inUse = member;
    return member;
  }

  private failed(member: Client, { code }: ServiceError): void {
    if (!MEMBER_TROUBLE.includes(code) || this.isClosed) return;
    this.isTroubled = true;
    this.members?.leave(member);
  }

  private answered(): void {
    if (!this.isTroubled) return;
    this.isTroubled = false;
    this.onReconnect();
  }

  private method(name: CallName): MethodDefinition<object, object> {
    const [service = '', call = ''] = name.split('/');
    const definition = this.library?.protocol[`etcdserverpb.${service}`];
    const method = (definition as Record<string, MethodDefinition<object, object>>)[call];
    if (!method) throw new Error(`etcd.proto has no call ${name}`);
    return method;
  }
}

/** etcd's own words, without gRPC's. */
function unavailable(cause: ServiceError, lockName: string | undefined): LockUnavailableError {
  return new LockUnavailableError(lockName, `etcd: ${cause.details || cause.message}`, {
    cause,
    mayHaveRun: !REFUSED.includes(cause.code),
  });
}

/** Whether etcd refused with these words, such as `lease already exists`. */
export function wasRefused(error: unknown, words: string): boolean {
  const cause = (error as Error | undefined)?.cause as Partial<ServiceError> | undefined;
  return cause?.details?.includes(words) ?? false;
}
