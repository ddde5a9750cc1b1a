import { readFile } from 'node:fs/promises';

/** What the engine of a replica believed about a lease of its own; written by `witness.mjs`. */
export interface Testimony {
  /** It was granted, or renewed; or it was released or lost. */
  readonly kind: 'held' | 'left';
  /** ms since the epoch, on the machine's clock. */
  readonly at: number;
  /** How long it would have been valid from there on without another renewal. */
  readonly until: number;
  readonly name: string;
  /** Which member of a pool it is a lease of; undefined for a lock, which has one holder. */
  readonly permit?: string | undefined;
  readonly fence: bigint;
  /** Which life of which replica. */
  readonly process: string;
}

/** Everything that the replicas' files say, in the order of each file. */
export async function readTestimony(files: Readonly<Record<string, string>>): Promise<Testimony[]> {
  const offsetMs = Date.now() - Number(process.hrtime.bigint()) / 1e6;
  const all = Object.entries(files).map(async ([replica, file]) => {
    const text = await readFile(file, 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const said = JSON.parse(line) as Omit<Testimony, 'fence' | 'process'> & {
          readonly fence: string;
          readonly pid: number;
        };
        return {
          kind: said.kind,
          at: said.at + offsetMs,
          until: said.until + offsetMs,
          name: said.name,
          permit: said.permit,
          fence: BigInt(said.fence),
          process: `${replica} (pid ${said.pid})`,
        };
      });
  });
  return (await Promise.all(all)).flat();
}
