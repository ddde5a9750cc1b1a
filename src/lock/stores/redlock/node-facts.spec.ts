import { describe, expect, it } from '@jest/globals';
import { abstentionMs, nodeFacts } from './node-facts.js';

const facts = (uptimeMs: number, runId = 'b') => ({ runId, uptimeMs, role: 'master' });

describe('what a node says of itself', () => {
  it('is read from INFO, and must be complete', () => {
    const info = '# Server\r\nrun_id:ab12\r\nuptime_in_seconds:42\r\nrole:slave\r\n';
    expect(nodeFacts(info)).toEqual({ runId: 'ab12', uptimeMs: 42_000, role: 'slave' });
    expect(() => nodeFacts('run_id:ab12\r\nrole:master')).toThrow('uptime_in_seconds');
  });
});

describe('a node abstains', () => {
  it.each([
    ['not at all after a long life', undefined, 120_000, 0],
    ['for the rest of the quarantine after a short one', undefined, 20_000, 100_000],
    ['no longer than before on another connection to the same server', 'b', 20_000, 0],
    ['for all of it where it was restarted since, whatever its clock says', 'a', 500_000, 120_000],
  ])('%s', (_what, lastRunId, uptimeMs, expected) => {
    expect(abstentionMs(facts(uptimeMs), lastRunId, 120_000)).toBe(expected);
  });
});
