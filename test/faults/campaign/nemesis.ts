import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './fault.js';
import { allFaults } from './faults/all-faults.js';
import type { Journal } from './journal.js';
import { type LibraryDocument, textDocument } from './library.js';
import type { Replica } from './replica.js';
import type { Requests } from './requests.js';
import type { SeededRandom } from './seeded-random.js';
import type { World } from './world.js';

/** When everything must work again at the latest: far beyond what it takes, on a busy machine too. */
const RECOVERY_MS = 90_000;

/**
 * Breaks one thing after the other, or two at once, in an order that the seed decides; every kind once
 * before one comes again. Goes on only when every replica has processed a document since.
 */
export class Nemesis {
  private bag: Fault[] = [];

  constructor(
    private readonly world: World,
    private readonly random: SeededRandom,
    private readonly requests: Requests,
    private readonly journal: Journal,
    /** What may be broken. */
    private readonly faults: readonly Fault[] = allFaults(world),
  ) {}

  /** Goes on until the time is over, and resolves when everything works again. */
  async run(until: number): Promise<void> {
    while (Date.now() < until) {
      await this.round(this.draw());
      await delay(this.random.whole(100, 800));
    }
  }

  /** Breaks each of those that concern what is chosen, one after the other, and resolves when everything works again. */
  async breakEach(isChosen: (fault: Fault) => boolean): Promise<void> {
    const chosen = this.faults.filter(isChosen);
    for (const fault of this.random.shuffled(chosen)) await this.round([fault]);
  }

  private async round(faults: readonly Fault[]): Promise<void> {
    const at = Date.now();
    this.journal.say(`breaking: ${faults.map(({ kind }) => kind).join(' + ')}`);
    const injected = faults.map(({ kind }) => ({
      kind,
      at,
      healedAt: Infinity,
      recoveredAt: undefined as number | undefined,
    }));
    this.journal.faults.push(...injected);
    await Promise.all(
      faults.map(async (fault, index) => {
        await fault.inject(this.world, this.random, this.journal);
        injected[index]!.healedAt = Date.now();
      }),
    );
    await Promise.all(this.world.replicas.map((replica) => this.worksAgain(replica)));
    for (const one of injected) one.recoveredAt = Date.now();
  }

  /** The next kind and, half of the time, another one of another domain with it. */
  private draw(): Fault[] {
    if (this.bag.length === 0) this.bag = this.random.shuffled(this.faults);
    const first = this.bag.pop();
    if (!first) throw new Error('Nothing can be broken here.');
    const second = this.bag.findLast(({ domain }) => domain !== first.domain);
    if (!second || this.random.chance(0.4)) return [first];
    this.bag.splice(this.bag.indexOf(second), 1);
    return [first, second];
  }

  /** Asks the replica to process a document of its own until it does. */
  private async worksAgain(replica: Replica): Promise<void> {
    const document: LibraryDocument = textDocument(`probe-${replica.name}`);
    const deadline = Date.now() + RECOVERY_MS;
    let last = 'nothing';
    while (Date.now() < deadline) {
      for (const kind of ['process', 'upload', 'process'] as const) {
        const { status, code } = await this.requests.send({ kind, document, replica, version: 1 });
        last = `${kind} ${status} ${code ?? ''}`;
        if (kind === 'process' && status === 200) return;
        if (status !== 404 && (status === undefined || status >= 300)) break;
      }
      await delay(100);
    }
    this.journal.violation(
      `${replica.name} did not recover within ${RECOVERY_MS} ms (${last}); it said: ${replica.lastWords}`,
    );
  }
}
