/** A node that holds a lock, or waits for that: its name says whose it is. */
export interface HeldNode {
  readonly token: string;
  readonly path: string;
  readonly sequence: bigint;
}

/** A process's place in the line. */
export interface PlaceNode {
  readonly process: string;
  readonly path: string;
  /** Its sequence number, or the older one that its process brought along. */
  readonly ticket: bigint;
}

/** The children of a lock's node. */
export interface Look {
  /** In the order in which they were made: the first one holds the lock. */
  readonly held: readonly HeldNode[];
  /** In the order of their tickets. */
  readonly line: readonly PlaceNode[];
}

/** What somebody's node says of it. */
export interface NodeData {
  readonly revoked: boolean;
  /** By the holder's wall clock. */
  readonly sinceMs: number | undefined;
  /** How long it lives at most after its holder has died. */
  readonly lifeMs: number | undefined;
}

export const EMPTY_LOOK: Look = { held: [], line: [] };

/**
 * Where things lie: `<root>/<prefix><name>` is a lock; its children are ephemeral and sequential:
 * `held-<token>-<sequence>` and `place-<process>-<old ticket or nothing>-<sequence>`. Names carry their
 * owner, so that a node whose creation had no answer is found by whoever made it.
 */
export class ZookeeperNodes {
  constructor(
    readonly root: string,
    private readonly prefix: string,
  ) {}

  lock(name: string): string {
    return `${this.root}/${encode(this.prefix + name)}`;
  }

  /** The name of a lock's node; undefined where it is not one of this prefix. */
  nameOf(child: string): string | undefined {
    const text = decodeURIComponent(child);
    return text.startsWith(this.prefix) ? text.slice(this.prefix.length) : undefined;
  }

  held(name: string, token: string): string {
    return `${this.lock(name)}/held-${encode(token)}-`;
  }

  place(name: string, process: string, ticket: string): string {
    return `${this.lock(name)}/place-${encode(process)}-${ticket}-`;
  }

  look(name: string, children: readonly string[]): Look {
    const held: HeldNode[] = [];
    const line: PlaceNode[] = [];
    for (const child of children) {
      const path = `${this.lock(name)}/${child}`;
      const [, token, sequence] = /^held-(.*)-(\d+)$/.exec(child) ?? [];
      if (token !== undefined && sequence !== undefined) {
        held.push({ token: decodeURIComponent(token), path, sequence: BigInt(sequence) });
      }
      const [, process, old, own] = /^place-(.*)-(\d*)-(\d+)$/.exec(child) ?? [];
      if (process !== undefined && own !== undefined) {
        line.push({ process: decodeURIComponent(process), path, ticket: BigInt(old || own) });
      }
    }
    held.sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
    line.sort((a, b) => (a.ticket < b.ticket ? -1 : 1));
    return { held, line };
  }
}

export function writeData(sinceMs: number, lifeMs: number, revoked = false): Buffer {
  return Buffer.from(`${revoked ? 'revoked' : 'held'} ${Math.floor(sinceMs)} ${lifeMs}`);
}

export function readData(data: Buffer | undefined): NodeData {
  const [, state, since, life] = /^(held|revoked) (\d+) (\d+)$/.exec(data?.toString() ?? '') ?? [];
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return { revoked: state === 'revoked', sinceMs: number(since), lifeMs: number(life) };
}

/** Plain characters only: ZooKeeper refuses slashes, control characters and whatever needs two UTF-16 units. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':');
}
