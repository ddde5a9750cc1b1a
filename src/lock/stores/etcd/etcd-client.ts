import { fileURLToPath } from 'node:url';
import type * as Grpc from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { LockOptionsError } from '../../core/lock.errors.js';

const PROTOCOL = fileURLToPath(new URL('./etcd.proto', import.meta.url));

/** The client library and etcd's protocol, loaded. */
export interface EtcdClient {
  readonly grpc: typeof Grpc;
  readonly protocol: PackageDefinition;
}

/**
 * Loads the client library, which is an optional peer: only a process that chose this store needs it.
 * @throws LockOptionsError naming what to install
 */
export async function loadEtcdClient(): Promise<EtcdClient> {
  try {
    const [grpc, loader] = await Promise.all([
      import('@grpc/grpc-js'),
      import('@grpc/proto-loader'),
    ]);
    const options = { longs: String, enums: String, defaults: true, oneofs: true };
    return { grpc, protocol: loader.loadSync(PROTOCOL, options) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new LockOptionsError(
      'The lock store "etcd" needs the packages @grpc/grpc-js and @grpc/proto-loader, and at least one of them is not installed. Run "npm install @grpc/grpc-js @grpc/proto-loader", or choose another store.',
    );
  }
}
