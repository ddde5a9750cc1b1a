import { StreamLimitError, StreamsFullError } from './documents.errors.js';

/** How many event streams a replica has at once, and how many of them one client may have. */
export const MAX_STREAMS = 2_000;
export const MAX_STREAMS_PER_CLIENT = 100;

/** Counts the event streams of a replica. */
export class StreamSlots {
  private readonly byClient = new Map<string, number>();
  private taken = 0;

  /**
   * Counts one more stream of a client until `ended` aborts; none where it has aborted.
   * @throws StreamLimitError, StreamsFullError
   */
  take(client: string, ended: AbortSignal): void {
    if (ended.aborted) return;
    const ofClient = this.byClient.get(client) ?? 0;
    if (ofClient >= MAX_STREAMS_PER_CLIENT) throw new StreamLimitError(MAX_STREAMS_PER_CLIENT);
    if (this.taken >= MAX_STREAMS) throw new StreamsFullError();
    this.taken += 1;
    this.byClient.set(client, ofClient + 1);
    ended.addEventListener('abort', () => this.give(client), { once: true });
  }

  private give(client: string): void {
    this.taken -= 1;
    const left = (this.byClient.get(client) ?? 0) - 1;
    if (left > 0) this.byClient.set(client, left);
    else this.byClient.delete(client);
  }
}
