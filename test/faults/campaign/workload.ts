import { setTimeout as delay } from 'node:timers/promises';
import type { Operation, OperationKind } from './journal.js';
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
  ask: 6,
  'ask-once': 8,
  archive: 3,
  read: 8,
  delete: 3,
};
const lottery = (Object.keys(weights) as OperationKind[]).flatMap((kind) =>
  Array.from({ length: weights[kind] }, () => kind),
);

/** Then the client gives up; whether the work was done, it never learns. */
const MOST_REPETITIONS = 12;

const isFinal = ({ status }: Operation) => status !== undefined && status < 500 && status !== 409;

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

  /** One operation, sent to two replicas in one instant and repeated until it has an answer: a client that must know. */
  private async askOnce(random: SeededRandom, document: LibraryDocument): Promise<void> {
    const question = `What is said in chapter ${this.nextVersion()}?`;
    const send = () =>
      this.requests.send({
        kind: 'ask-once',
        document,
        replica: random.pick(this.replicas),
        question,
      });
    let answers: readonly Operation[] = await Promise.all([send(), send()]);
    for (let turn = 0; turn < MOST_REPETITIONS && !answers.some(isFinal); turn += 1) {
      await delay(random.whole(100, 600));
      answers = [await send()];
    }
    await send(); // whoever asks again after that gets what there is
  }

  private async run(random: SeededRandom): Promise<void> {
    while (!this.stopped) {
      const document = random.pick(this.library);
      const kind = random.pick(lottery);
      if (kind === 'ask-once') await this.askOnce(random, document);
      else {
        const replica = random.pick(this.replicas);
        await this.requests.send({ kind, document, replica, version: this.nextVersion() });
      }
      await delay(random.whole(10, 150));
    }
  }
}
