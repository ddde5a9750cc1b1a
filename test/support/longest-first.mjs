import TestSequencer from '@jest/test-sequencer';

/** Where single files take minutes; what is begun last would keep one worker while the others rest. */
const LONG = /\/test\/faults\//;

/** Jest's own order (on a fresh checkout: the largest files first), but for those that take longest. */
export default class LongestFirst extends TestSequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
