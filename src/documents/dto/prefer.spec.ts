import { describe, expect, it } from '@jest/globals';
import { wantsAsync } from './prefer.js';

describe('the Prefer header', () => {
  it.each([
    'respond-async',
    'Respond-Async; wait=10',
    'return=minimal, respond-async',
    ' respond-async ',
  ])('asks for an early answer: %j', (header) => expect(wantsAsync(header)).toBe(true));

  it.each([undefined, '', 'return=minimal', 'respond-asynchronously', 'wait=respond-async'])(
    'does not: %j',
    (header) => expect(wantsAsync(header)).toBe(false),
  );
});
