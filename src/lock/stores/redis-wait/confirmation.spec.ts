import { describe, expect, it } from '@jest/globals';
import { connectedReplicas, isConfirmed, whyUnconfirmed } from './confirmation.js';

describe('a confirmation', () => {
  it.each([
    [1, 1, true],
    [2, 1, true],
    [0, 1, false],
    // One of two: enough where one was wanted, whichever is promoted later.
    [1, 2, false],
    [2, 2, true],
    // WAIT 0 succeeds at once and proves nothing.
    [0, 0, false],
    [1, 0, false],
  ])('by %d where %d are wanted: %s', (acknowledged, wanted, confirmed) => {
    expect(isConfirmed({ acknowledged, wanted })).toBe(confirmed);
    expect(isConfirmed({ acknowledged, wanted, trouble: 'the connection was lost' })).toBe(false);
  });

  it('that is short says by how much, within what time, and what to do', () => {
    const why = whyUnconfirmed({ acknowledged: 1, wanted: 2 }, 300);
    expect(why).toMatch(/^1 of 2 wanted replicas .* within 300 ms.* Look whether the replicas/);
  });
});

describe('the number of connected replicas', () => {
  const replica = (port: string) => ['127.0.0.1', port, '42'];

  it.each([
    [['master', 42, []], 1],
    [['master', 42, [replica('1')]], 1],
    [['master', 42, [replica('1'), replica('2')]], 2],
  ])('of %j is %d', (role, count) => {
    expect(connectedReplicas(role)).toBe(count);
  });

  it.each([[['slave', '127.0.0.1', 1, 'connected', 42]], [['sentinel', []]], [null]])(
    'of %j is none: it is no primary',
    (role) => {
      expect(() => connectedReplicas(role)).toThrow('no primary');
    },
  );
});
