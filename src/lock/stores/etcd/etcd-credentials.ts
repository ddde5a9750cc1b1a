import { readFile } from 'node:fs/promises';
import { LockOptionsError } from '../../core/lock.errors.js';

/** The files of a client certificate, in PEM. */
export interface EtcdClientCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A client certificate, read. */
export interface EtcdCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** @throws LockOptionsError for a file that cannot be read */
export async function readCertificate({
  certFile,
  keyFile,
}: EtcdClientCertificate): Promise<EtcdCertificate> {
  const [cert, key] = await Promise.all([read(certFile), read(keyFile)]);
  return { cert, key };
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new LockOptionsError(
      `The client certificate for etcd cannot be read: ${(error as Error).message}. Name files that this process may read.`,
    );
  }
}
