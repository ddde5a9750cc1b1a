import { describe, expect, it } from '@jest/globals';
import { judge } from './answers.js';
import type { AcceptedWrite } from './audit.js';
import { Journal, type Operation } from './journal.js';
import { makeLibrary, textOf } from './library.js';
import { tornPassages } from './passages.js';
import type { Testimony } from './testimony.js';
import { verdict } from './verdict.js';

const T0 = 1_800_000_000_000;
const name = 'doc:text-1';

/** A fence that was minted so many ms after T0. */
const minted = (ms: number) => BigInt(T0 + ms) * 1_000n;

/** What an engine believed of a lease that it was granted at `ms`, held until `untilMs`, and then released. */
function lease(ms: number, untilMs: number, process = `process-${ms}`): Testimony[] {
  const about = { name, fence: minted(ms), process };
  const until = T0 + Math.max(untilMs, ms + 2_000);
  return [
    { kind: 'held', at: T0 + ms, until, ...about },
    { kind: 'left', at: T0 + untilMs, until, ...about },
  ];
}

let seq = 0;
function write(fence: bigint, ms: number, state = 'processing'): AcceptedWrite {
  seq += 1;
  return { seq, at: T0 + ms, name, fence, source: 'documents', state };
}

/** The writes of a run that begins at `ms` and enters a stage every 100 ms; the last one publishes. */
function run(ms: number, stages = 5): AcceptedWrite[] {
  const fence = minted(ms);
  const writes = Array.from({ length: stages }, (_, index) => write(fence, ms + 10 + index * 100));
  return stages < 5 ? writes : [...writes, write(fence, ms + 500, 'ready')];
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

interface Seen {
  readonly writes?: readonly AcceptedWrite[];
  readonly leases?: readonly Testimony[][];
  readonly operations?: readonly Operation[];
  readonly journal?: Journal;
}

function judged({ writes = [], leases = [], operations = [], journal = new Journal() }: Seen) {
  journal.operations.push(...operations);
  const report = verdict(writes, leases.flat(), journal);
  return { ...report, found: journal.violations };
}

describe('a right campaign', () => {
  it('is accepted: one run after the other, and one that was taken over', () => {
    const writes = [...run(0), ...run(1_000, 3), ...run(4_000)];
    const { found, grants, accepted } = judged({
      writes,
      leases: [lease(0, 600), lease(1_000, 3_000), lease(4_000, 4_600)],
      operations: [done(0, minted(0)), done(4_000, minted(4_000))],
    });
    expect({ found, grants, accepted }).toEqual({ found: [], grants: 3, accepted: writes.length });
  });

  it('may have writes without a lock of documents that nobody knows yet', () => {
    const writes = [write(0n, 5, 'uploaded'), ...run(10)];
    expect(judged({ writes, leases: [lease(10, 600)] }).found).toEqual([]);
  });

  it('has holders that died: their leases end by themselves', () => {
    const [granted] = lease(0, 500) as [Testimony, Testimony];
    expect(judged({ leases: [[granted], lease(2_001, 2_500)] }).found).toEqual([]);
    expect(judged({ leases: [[granted], lease(1_999, 2_500)] }).found).toEqual([
      expect.stringMatching(/overlap/),
    ]);
  });
});

describe('what is found', () => {
  const overlapping = [lease(0, 700), lease(150, 900)];

  it('two holders at once, also where neither of them writes', () => {
    expect(judged({ leases: overlapping }).found).toEqual([
      expect.stringMatching(/overlap: .* both held .* 550/),
    ]);
  });

  it('nothing of the kind after the store lost its locks', () => {
    const journal = new Journal();
    journal.losses.push({ at: T0 + 100, what: 'FLUSHALL', losesLocks: true });
    expect(judged({ leases: overlapping, journal })).toMatchObject({
      found: [],
      excusedOverlaps: 1,
    });
  });

  it('a lease that was granted twice under one fence', () => {
    const twice = [lease(0, 500), lease(0, 600, 'another process')];
    expect(judged({ leases: twice }).found.join()).toMatch(/asked twice/);
  });

  it('a write under a fence that nobody was granted', () => {
    expect(judged({ writes: run(0) }).found.join()).toMatch(/fence not its own/);
  });

  it('an older fence that was accepted after a newer one', () => {
    const writes = [...run(0, 2), ...run(2_000, 2), write(minted(0), 2_500)];
    const leases = [lease(0, 1_900), lease(2_000, 3_000)];
    expect(judged({ writes, leases }).found.join()).toMatch(/write: "doc:text-1" accepted/);
  });

  it('two runs that went well under one fence', () => {
    const operations = [done(0, minted(0)), done(1_000, minted(0))];
    expect(judged({ writes: run(0), leases: [lease(0, 600)], operations }).found.join()).toMatch(
      /both went well under/,
    );
  });

  it('nothing where two callers of one replica waited for one run together', () => {
    const [first, second] = [done(0, minted(0)), done(10, minted(0))];
    const seen = { writes: run(0), leases: [lease(0, 600)] };
    const waiting = { ...first, endedAt: second.endedAt };
    expect(judged({ ...seen, operations: [waiting, second] }).found).toEqual([]);
    const elsewhere = { ...waiting, replica: 'replica-2' };
    expect(judged({ ...seen, operations: [elsewhere, second] }).found.join()).toMatch(
      /both went well under/,
    );
  });

  it('an answer that the database does not confirm', () => {
    const operations = [done(0, minted(0))];
    const leases = [lease(0, 600)];
    expect(judged({ writes: run(0, 3), leases, operations }).found.join()).toMatch(
      /took: processing/,
    );
    expect(judged({ operations }).found.join()).toMatch(/took: undefined/);
  });

  it('a fence that falls from one answer to the next request', () => {
    const writes = [...run(0), ...run(1_000)];
    const operations = [done(0, minted(1_000)), done(1_000, minted(0))];
    const leases = [lease(0, 600), lease(1_000, 1_600)];
    expect(judged({ writes, leases, operations }).found.join()).toMatch(
      /got fence .* after .* had been answered/,
    );
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
