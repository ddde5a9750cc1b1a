import { DocumentsClient, type Fetcher } from '../support/documents-client.js';

/** A tick of the archiver, as far as these checks look. */
export interface RanTick {
  readonly scheduledAt: string;
  readonly outcome: string;
  readonly replica: string;
}

interface Page {
  readonly items: readonly (Omit<RanTick, 'scheduledAt'> & { scheduledAt: string | null })[];
  readonly nextCursor: string | null;
}

/** Every scheduled instant whose work has begun, whatever became of it: skipped ones are left out. */
export async function ranTicks(front: Fetcher): Promise<RanTick[]> {
  const client = new DocumentsClient(front);
  const ran: RanTick[] = [];
  let cursor = '';
  do {
    const { body } = await client.send<Page>(`/archive/ticks?limit=200${cursor}`);
    for (const { scheduledAt, outcome, replica } of body.items) {
      if (scheduledAt !== null && !outcome.startsWith('skipped-')) {
        ran.push({ scheduledAt, outcome, replica });
      }
    }
    cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`;
  } while (cursor !== '');
  return ran;
}

/** The instants that were run more than once. */
export function repeated(ticks: readonly RanTick[]): string[] {
  const instants = ticks.map(({ scheduledAt }) => scheduledAt);
  return instants.filter((instant, index) => instants.indexOf(instant) !== index);
}
