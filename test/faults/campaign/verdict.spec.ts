import { describe, expect, it } from '@jest/globals';
import { judge } from './answers.js';
import type { AcceptedWrite } from './audit.js';
import { Journal, type Operation } from './journal.js';
import { makeLibrary, textOf } from './library.js';
import { tornPassages } from './passages.js';
import { verdict } from './verdict.js';

const T0 = 1_800_000_000_000;
const name = 'doc:text-1';

/** A fence that was minted so many ms after T0. */
const minted = (ms: number) => BigInt(T0 + ms) * 1_000n;

let seq = 0;
function write(
  fence: bigint,
  ms: number,
  stage: string | null,
  state = 'processing',
): AcceptedWrite {
  seq += 1;
  return { seq, at: T0 + ms, name, fence, source: 'documents', state, stage };
}

/** The writes of a run that begins at `ms` and enters a stage every 100 ms; the last one publishes. */
function run(ms: number, stages = 5): AcceptedWrite[] {
  const fence = minted(ms);
  const entered = ['extract', 'chunk', 'embed', 'store', 'publish'].slice(0, stages);
  const writes = entered.map((stage, index) => write(fence, ms + 10 + index * 100, stage));
  return stages < 5 ? writes : [...writes, write(fence, ms + 500, null, 'ready')];
}

function answer(kind: Operation['kind'], ms: number, more: Partial<Operation> = {}): Operation {
  const document = 'text-1';
  const times = { sentAt: T0 + ms, endedAt: T0 + ms + 500 };
  return {
    kind,
    document,
    replica: 'r1',
    ...times,
    status: 200,
    code: undefined,
    body: {},
    ...more,
  };
}
const done = (ms: number, fence: bigint) =>
  answer('process', ms, { body: { status: 'ok', fence: String(fence) } });

function judged(
  writes: readonly AcceptedWrite[],
  operations: readonly Operation[] = [],
  journal = new Journal(),
) {
  journal.operations.push(...operations);
  const report = verdict(writes, journal);
  return { ...report, found: journal.violations };
}

describe('a right campaign', () => {
  it('is accepted: one run after the other, and one that was taken over', () => {
    const writes = [...run(0), ...run(1_000, 3), ...run(4_000)];
    const { found, grants, accepted } = judged(writes, [
      done(0, minted(0)),
      done(4_000, minted(4_000)),
    ]);
    expect({ found, grants, accepted }).toEqual({ found: [], grants: 3, accepted: writes.length });
  });

  it('may have writes without a lock of documents that nobody knows yet', () => {
    expect(judged([write(0n, 5, null, 'uploaded'), ...run(10)]).found).toEqual([]);
  });
});

describe('what is found', () => {
  it('two holders at once, although the database refused the first one from then on', () => {
    // The second fence was minted while the first run still entered stages; its write came after those.
    const writes = [...run(0, 4), write(minted(150), 400, 'extract')];
    expect(judged(writes).found).toEqual([expect.stringMatching(/overlap: .* both held/)]);
  });

  it('nothing of the kind after the store lost its locks, or while its clock is doubtful', () => {
    const flushed = new Journal();
    flushed.losses.push({ at: T0 + 100, what: 'FLUSHALL', losesLocks: true });
    const writes = [...run(0, 4), write(minted(150), 400, 'extract')];
    expect(judged(writes, [], flushed)).toMatchObject({ found: [], excusedOverlaps: 1 });
    const stepped = new Journal();
    stepped.losses.push({ at: T0 - 5_000, what: 'clock step', serverClockMs: -1_000 });
    expect(judged(writes, [], stepped).found).toEqual([]);
  });

  it('an older fence that was accepted after a newer one', () => {
    const writes = [...run(0, 2), ...run(2_000, 2), write(minted(0), 2_500, 'embed')];
    expect(judged(writes).found.join()).toMatch(/write: "doc:text-1" accepted/);
  });

  it('two runs that went well under one fence', () => {
    const twice = [done(0, minted(0)), done(100, minted(0))];
    expect(judged(run(0), twice).found.join()).toMatch(/both went well under/);
  });

  it('an answer that the database does not confirm', () => {
    expect(judged(run(0, 3), [done(0, minted(0))]).found.join()).toMatch(/took: processing/);
    expect(judged([], [done(0, minted(0))]).found.join()).toMatch(/took: undefined/);
  });

  it('a fence that falls from one answer to the next request', () => {
    const writes = [...run(0), ...run(1_000)];
    const answers = [done(0, minted(1_000)), done(1_000, minted(0))];
    expect(judged(writes, answers).found.join()).toMatch(/got fence .* after .* had been answered/);
  });
});

describe('an answer', () => {
  const judgeOne = (operation: Operation, journal = new Journal()) =>
    judge(operation, journal, false);
  const failed = (status: number | undefined, code: string) =>
    answer('process', 0, { status, code });

  it.each([
    [404, 'document_not_found'],
    [423, 'lock_busy'],
    [503, 'lock_unavailable'],
    [503, 'lease_lost'],
    [503, 'shutting_down'],
  ])('may be %s %s', (status, code) => {
    expect(judgeOne(failed(status, code))).toBeUndefined();
  });

  it.each([
    [500, 'internal_error', /answered 500/],
    [409, 'conflict', /answered 409/],
    [503, 'something_else', /answered 503/],
    [422, 'unreadable_document', /a readable document/],
    [503, 'embedding_failed', /nothing was done to it/],
    [503, 'database_unavailable', /nothing was done to it/],
    [undefined, 'ECONNRESET', /no answer/],
  ])('may not be %s %s without a reason', (status, code, why) => {
    expect(judgeOne(failed(status, code))).toMatch(why);
  });

  it('may be missing where the replica was down, or name what was broken', () => {
    const journal = new Journal();
    journal.outage('r1', 'kill -9');
    const fault = { kind: 'worker crash', at: T0 - 9, healedAt: T0 };
    journal.faults.push({ ...fault, recoveredAt: undefined });
    const now = { sentAt: Date.now(), endedAt: Date.now() + 10 };
    expect(judgeOne({ ...failed(undefined, 'ECONNRESET'), ...now }, journal)).toBeUndefined();
    expect(judgeOne(failed(503, 'embedding_failed'), journal)).toBeUndefined();
  });

  it('may not take for ever, nor process what cannot be read', () => {
    expect(judgeOne(answer('process', 0, { endedAt: T0 + 46_000 }))).toMatch(/after 46000 ms/);
    expect(judge(answer('process', 0), new Journal(), true)).toMatch(/cannot be read/);
  });

  it('to a search holds one version, of this document, and all of it', async () => {
    const [document] = await makeLibrary(1);
    const found = (...passages: [number, string][]) =>
      tornPassages(
        answer('search', 0, {
          body: { passages: passages.map(([at, text]) => ({ seq: at, text })) },
        }),
        document!,
      );
    const [first, second] = [textOf('text-1', 1), textOf('text-1', 2)];
    expect(found([0, first], [1, first])).toBeUndefined();
    expect(found()).toBeUndefined();
    expect(found([0, first], [1, second])).toMatch(/several versions/);
    expect(found([0, textOf('other', 1)])).toMatch(/passages of other/);
    expect(found([0, first], [2, first])).toMatch(/part of the passages/);
  });
});
