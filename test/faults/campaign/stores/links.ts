import { FaultProxy } from '../../../support/fault-proxy.js';
import type { StoreTerms } from '../store-world.js';

/** Starts a proxy from each replica to each server; none where replicas are to be connected directly. */
export async function startLinks(
  { replicas, direct, atEnd }: StoreTerms,
  ports: readonly number[],
): Promise<readonly (readonly FaultProxy[])[]> {
  if (direct) return [];
  const linkTo = async (port: number) => {
    const proxy = await FaultProxy.start({ port });
    atEnd(() => proxy.close());
    return proxy;
  };
  return Promise.all(
    Array.from({ length: replicas }, () => Promise.all(ports.map((port) => linkTo(port)))),
  );
}

/** Where a replica finds each server: its link there, if it has one. */
export function portsFor(
  links: readonly (readonly FaultProxy[])[],
  replica: number,
  ports: readonly number[],
): readonly number[] {
  return links[replica]?.map(({ port }) => port) ?? ports;
}
