import { LlmStub, type StubAnswer, type StubRequest } from '../../../support/llm-stub.js';
import type { SeededRandom } from '../seeded-random.js';

/** A request to the model: who sent it, with which key, about what, and what it was answered. */
export interface ModelRequest {
  readonly replica: string;
  readonly key: string;
  readonly question: string;
  /** Unlike any other; undefined where it was refused, cut off or given up. */
  readonly text: string | undefined;
  readonly receivedAt: number;
  /** When the answer began to go out, or the connection was found closed; Infinity while neither is so. */
  readonly endedAt: number;
}

/** In ms; the client gives up at MODEL_TIMEOUT_MS. */
const SLOW_MS = 60_000;

/**
 * The server of the language model, over real HTTP: every replica has an address of its own there, so that it
 * is known who asks. It answers after a while, and now and then it refuses, fails, cuts off, or is too slow.
 */
export class ModelServer implements AsyncDisposable {
  /** Answers well, and fast. */
  isCalm = false;
  /** Answered 401 whatever they ask. */
  readonly refused = new Set<string>();
  private readonly texts = new Map<StubRequest, string>();
  private readonly waiting = new Set<(request: ModelRequest) => void>();
  private answers = 0;

  private constructor(
    private readonly stub: LlmStub,
    private readonly random: SeededRandom,
  ) {
    stub.treat = (key, _n, request) => this.treat(key, request);
    stub.onAnswered = (request) => {
      if (!this.texts.has(request)) return;
      for (const tell of this.waiting) tell(this.view(request));
      this.waiting.clear();
    };
  }

  static async start(random: SeededRandom): Promise<ModelServer> {
    return new ModelServer(await LlmStub.start(), random);
  }

  /** Where a replica finds it. */
  addressFor(replica: string): string {
    return `${new URL(this.stub.url).origin}/${replica}/v1`;
  }

  get requests(): readonly ModelRequest[] {
    return this.stub.requests.map((request) => this.view(request));
  }

  /** Requests that have no answer yet. */
  get underWay(): readonly ModelRequest[] {
    return this.requests.filter(({ endedAt }) => endedAt === Infinity);
  }

  /** The next request that is answered well, in the instant in which its answer has gone out. */
  nextAnswered(): Promise<ModelRequest> {
    return new Promise((resolve) => this.waiting.add(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stub[Symbol.asyncDispose]();
  }

  private treat(key: string, request: StubRequest): StubAnswer {
    if (this.refused.has(key)) return { kind: 'refuse', status: 401 };
    const lot = this.isCalm ? 1 : this.random.next();
    if (lot < 0.03) return { kind: 'refuse', status: 429, headers: { 'retry-after': '1' } };
    if (lot < 0.06) return { kind: 'refuse', status: 500 };
    if (lot < 0.09) return { kind: 'cut-off' };
    if (lot < 0.11) return { kind: 'answer', afterMs: SLOW_MS };
    this.answers += 1;
    const text = `It is so [1], says answer ${this.answers}.`;
    this.texts.set(request, text);
    return { kind: 'answer', afterMs: this.random.whole(50, this.isCalm ? 200 : 2_000), text };
  }

  private view(request: StubRequest): ModelRequest {
    const { key, path, body, receivedAt, endedAt = Infinity, aborted } = request;
    const said = JSON.stringify(body.messages);
    return {
      replica: path.split('/')[1] ?? '',
      key,
      question: / question>>\\n(.+?)\\n<</.exec(said)?.[1] ?? '',
      text: aborted ? undefined : this.texts.get(request),
      receivedAt,
      endedAt,
    };
  }
}
