import { describe, expect, it, jest } from '@jest/globals';
import { onAbort } from './clock.js';

describe('onAbort', () => {
  it('has one listener of the signal, however many share it, and calls all that are left', () => {
    const caller = new AbortController();
    const added = jest.spyOn(caller.signal, 'addEventListener');
    const called: number[] = [];
    const ends = Array.from({ length: 100 }, (_, n) =>
      onAbort(caller.signal, () => called.push(n)),
    );
    for (const end of ends.slice(2)) end();
    caller.abort();
    expect(called).toEqual([0, 1]);
    expect(added).toHaveBeenCalledTimes(1);
  });

  it('goes on with the others where one ends another, or itself', () => {
    const caller = new AbortController();
    const called: string[] = [];
    const ends: (() => void)[] = [];
    ends.push(
      onAbort(caller.signal, () => {
        called.push('first');
        for (const end of ends.slice(0, 2)) end();
      }),
      onAbort(caller.signal, () => called.push('ended by the first')),
      onAbort(caller.signal, () => called.push('last')),
    );
    caller.abort();
    expect(called).toEqual(['first', 'last']);
  });
});
