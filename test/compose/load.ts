import { setTimeout as delay } from 'node:timers/promises';
import { type Fetcher, DocumentsClient } from '../support/documents-client.js';

/** What came back, and what failed. */
export interface LoadReport {
  /** How often each status came. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Replicas that answered. */
  readonly servedBy: ReadonlySet<string>;
  /** Requests without an answer, in words. */
  readonly failures: readonly string[];
}

/**
 * Clients that create, process, read and search documents until `stop` is called, each one request
 * after the other; pairs of them work on the same documents, so that some answers are 423.
 */
export class Load {
  private readonly statuses: Record<number, number> = {};
  private readonly servedBy = new Set<string>();
  private readonly failures: string[] = [];
  private readonly clients: Promise<void>[];
  private over = false;

  constructor(
    private readonly front: Fetcher,
    clients: number,
  ) {
    this.clients = Array.from({ length: clients }, (_, index) => this.client(index));
  }

  async stop(): Promise<LoadReport> {
    this.over = true;
    await Promise.all(this.clients);
    const { statuses, servedBy, failures } = this;
    return { statuses, servedBy, failures };
  }

  private async client(index: number): Promise<void> {
    const documents = new DocumentsClient({ fetch: (path, init) => this.request(path, init) });
    for (let round = 1; !this.over; round += 1) {
      const id = `load-${Math.floor(index / 2)}-${round}`;
      const text = `The text of document ${id}, about locks and leases.`;
      const steps = [
        () => this.upload(documents, id, text),
        () => documents.process(id),
        () => documents.get(id),
        () => documents.passages(id, 'lease'),
        () =>
          documents.send('/documents', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ title: id, text }),
          }),
      ];
      for (const step of steps) {
        if (this.over) return;
        // Statuses and broken requests are counted below; an answer without a body of its kind is neither.
        await step().catch(() => undefined);
      }
    }
  }

  /** The other one of the pair may be working on the document; without an upload the rest would be 404. */
  private async upload(documents: DocumentsClient, id: string, text: string): Promise<void> {
    while (!this.over && (await documents.put(id, text)).status === 423) await delay(100);
  }

  private async request(path: string, init?: RequestInit): Promise<Response> {
    const what = `${init?.method ?? 'GET'} ${path}`;
    try {
      const answer = await this.front.fetch(path, { ...init, signal: AbortSignal.timeout(60_000) });
      const body = await answer.clone().text();
      const { status } = answer;
      this.statuses[status] = (this.statuses[status] ?? 0) + 1;
      this.servedBy.add(answer.headers.get('x-served-by') ?? 'the front');
      if (status >= 400 && status !== 423) this.failures.push(`${what}: ${status} ${body}`);
      return answer;
    } catch (error) {
      this.failures.push(`${what}: ${String(error)} ${String((error as Error).cause)}`);
      throw error;
    }
  }
}
