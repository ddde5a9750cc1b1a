import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from '../journal.js';
import type { LibraryDocument } from '../library.js';
import type { Replica } from '../replica.js';
import type { Requests } from '../requests.js';
import { SeededRandom } from '../seeded-random.js';

/** Then the client gives up; whether it was answered, it never learns. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 300;

const isAnswered = ({ status }: Operation) => status === 201;

/**
 * Clients that ask the same document one question after the other, each with an Idempotency-Key: often two
 * replicas in one instant, and again and again until there is an answer.
 */
export class Questions {
  private stopped = false;
  private asked = 0;
  private readonly clients: Promise<void>[];

  constructor(
    seed: number,
    clients: number,
    private readonly replicas: readonly Replica[],
    private readonly document: LibraryDocument,
    private readonly requests: Requests,
  ) {
    this.clients = Array.from({ length: clients }, (_, index) =>
      this.run(new SeededRandom(seed, `asker-${index}`)),
    );
  }

  /** The clients finish what they do. Rejects if one of them broke. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
  }

  /** One question that nobody has asked, of one replica, until it is answered. Resolves with what came last. */
  async askNew(replica: Replica): Promise<Operation> {
    const question = this.newQuestion();
    return this.repeat(await this.ask(question, replica), () => this.ask(question, replica));
  }

  private async run(random: SeededRandom): Promise<void> {
    while (!this.stopped) {
      const question = this.newQuestion();
      const first = random.shuffled(this.replicas).slice(0, random.whole(1, 2));
      const answers = await Promise.all(first.map((replica) => this.ask(question, replica)));
      const best = answers.find(isAnswered) ?? answers[0]!;
      await this.repeat(best, () => this.ask(question, random.pick(this.replicas)));
    }
  }

  private async repeat(first: Operation, ask: () => Promise<Operation>): Promise<Operation> {
    const until = Date.now() + PATIENCE_MS;
    let last = first;
    while (!isAnswered(last) && Date.now() < until) {
      await delay(PAUSE_MS);
      last = await ask();
    }
    return last;
  }

  private newQuestion(): string {
    this.asked += 1;
    return `What is said in chapter ${this.asked}?`;
  }

  private ask(question: string, replica: Replica): Promise<Operation> {
    const { document } = this;
    return this.requests.send({ kind: 'ask-once', document, replica, question });
  }
}
