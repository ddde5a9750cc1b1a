import { setTimeout as delay } from 'node:timers/promises';
import type { OperationKind } from './journal.js';
import type { LibraryDocument } from './library.js';
import type { Replica } from './replica.js';
import type { Requests } from './requests.js';
import { SeededRandom } from './seeded-random.js';

/** How often each operation is chosen, out of their sum. */
const weights: Readonly<Record<OperationKind, number>> = {
  upload: 16,
  process: 34,
  'process-async': 12,
  search: 14,
  ask: 10,
  archive: 3,
  read: 8,
  delete: 3,
};
const lottery = (Object.keys(weights) as OperationKind[]).flatMap((kind) =>
  Array.from({ length: weights[kind] }, () => kind),
);

/** Clients that ask replicas at random for anything, one request after the other each, until they are stopped. */
export class Workload {
  private stopped = false;
  private versions = 0;
  private readonly clients: Promise<void>[];

  constructor(
    seed: number,
    clients: number,
    private readonly replicas: readonly Replica[],
    private readonly library: readonly LibraryDocument[],
    private readonly requests: Requests,
  ) {
    this.clients = Array.from({ length: clients }, (_, index) =>
      this.run(new SeededRandom(seed, `client-${index}`)),
    );
  }

  /** The clients finish what they do. Rejects if one of them broke. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
  }

  /** A version that no upload has had. */
  nextVersion(): number {
    this.versions += 1;
    return this.versions;
  }

  private async run(random: SeededRandom): Promise<void> {
    while (!this.stopped) {
      const document = random.pick(this.library);
      const kind = random.pick(lottery);
      await this.requests.send({
        kind,
        document,
        replica: random.pick(this.replicas),
        version: this.nextVersion(),
      });
      await delay(random.whole(10, 150));
    }
  }
}
