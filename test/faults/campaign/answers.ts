import type { Journal, Operation, OperationKind } from './journal.js';

const ok: Record<OperationKind, readonly number[]> = {
  upload: [200, 201],
  process: [200],
  'process-async': [202],
  search: [200],
  ask: [201],
  'ask-once': [201],
  archive: [200],
  read: [200],
  delete: [204],
};

/** Per status, the codes that each operation may be answered with. */
const problems: Record<number, Readonly<Record<string, readonly OperationKind[]>>> = {
  404: {
    document_not_found: ['process', 'process-async', 'search', 'ask', 'ask-once', 'read', 'delete'],
  },
  409: { idempotency_in_progress: ['ask-once'] },
  422: { unreadable_document: ['process'] },
  423: {
    lock_busy: ['upload', 'process', 'process-async', 'archive', 'delete'],
    document_queued: ['process'],
  },
  503: {
    lock_unavailable: [
      'upload',
      'process',
      'process-async',
      'archive',
      'delete',
      'read',
      'ask-once',
    ],
    queue_wait_timeout: ['process'],
    idempotency_mark_lost: ['ask-once'],
    idempotency_unavailable: ['ask-once'],
    lease_lost: ['upload', 'process', 'process-async', 'archive', 'delete'],
    shutting_down: Object.keys(ok) as OperationKind[],
    database_unavailable: Object.keys(ok) as OperationKind[],
    embedding_failed: ['process', 'search', 'ask', 'ask-once'],
    // Where questions go to a language model.
    key_pool_busy: ['ask-once'],
    key_pool_resting: ['ask-once'],
    llm_unavailable: ['ask-once'],
  },
};

/** How long what a fault did may show: a worker or a connection that broke is found at its next use. */
const SHADOW_MS = 60_000;

/** The faults without which an answer has no excuse, whatever the machine's speed. */
const neededFaults: Readonly<Record<string, readonly string[]>> = {
  embedding_failed: ['worker crash'],
  database_unavailable: ['database restart', 'disk full'],
};

/** No answer may take longer, frozen replicas and all; a machine that is busy with other tests included. */
const LONGEST_ANSWER_MS = 45_000;

/** What is wrong with an answer, or undefined. `isBroken`: the document cannot be read. */
export function judge(
  operation: Operation,
  journal: Journal,
  isBroken: boolean,
): string | undefined {
  const { kind, status, code, sentAt, endedAt, replica, body } = operation;
  const tookMs = endedAt - sentAt;
  if (tookMs > LONGEST_ANSWER_MS) return `answered after ${tookMs} ms (${status ?? code})`;
  if (status === undefined) {
    return journal.wasOut(replica, sentAt, endedAt) ? undefined : `no answer: ${code}`;
  }
  if (ok[kind].includes(status)) {
    return kind === 'process' && isBroken ? 'processed what cannot be read' : undefined;
  }
  const kinds = code === undefined ? undefined : problems[status]?.[code];
  if (!kinds?.includes(kind)) return `answered ${status} ${code}: ${JSON.stringify(body)}`;
  if (code === 'unreadable_document' && !isBroken)
    return 'a readable document was called unreadable';
  const needed = neededFaults[code ?? ''];
  if (needed && !needed.some((fault) => journal.hadFault(fault, sentAt, endedAt, SHADOW_MS))) {
    return `answered ${code} although nothing was done to it`;
  }
  return undefined;
}

/** Whether a lock was taken for it and given back. */
export function tookLock({ kind, status }: Operation): boolean {
  return (
    ['upload', 'process', 'process-async', 'delete'].includes(kind) &&
    status !== undefined &&
    status < 300
  );
}
