import { describe, expect, it } from '@jest/globals';
import { checkCitations } from './citations.js';

const passages = [40, 50, 60].map((seq) => ({ seq, page: null, text: 'Text.', score: 1 }));

describe('the citations of an answer', () => {
  it.each([
    ['Whales do [2], and only they [2][1].', 'Whales do [2], and only they [2][1].', [50, 40]],
    ['Whales do [9], says [3].', 'Whales do (9), says [3].', [60]],
    ['Whales do [1, 3] or [2,7].', 'Whales do [1][3] or [2](7).', [40, 60, 50]],
    ['Whales do [ 2 ].', 'Whales do [2].', [50]],
    ['Passage [0] and [004].', 'Passage (0) and (4).', []],
    ['In [2024], a[i] was [x].', 'In [2024], a[i] was [x].', []],
    ['Nobody says so.', 'Nobody says so.', []],
  ])('name passages that were given: %s', (text, checked, sources) => {
    expect(checkCitations(text, passages)).toEqual({ text: checked, sources });
  });
});
