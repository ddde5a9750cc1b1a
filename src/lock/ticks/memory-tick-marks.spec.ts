import { describe, it } from '@jest/globals';
import { tickMarksContract } from '../testing/tick-marks-contract.js';
import { MemoryTickMarks } from './memory-tick-marks.js';

describe('MemoryTickMarks keeps the contract', () => {
  it.each(tickMarksContract)('$promise', ({ verify }) => verify(new MemoryTickMarks()));
});
