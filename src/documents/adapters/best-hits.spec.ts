import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { BestHits } from './best-hits.js';

describe('BestHits', () => {
  it('keeps what sorting everything would keep', () => {
    const scores = fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 60 });
    fc.assert(
      fc.property(scores, fc.integer({ min: 1, max: 10 }), (all, limit) => {
        const candidates = all.map((score, seq) => ({ seq, score }));
        const best = new BestHits(limit);
        for (const candidate of candidates) best.offer(candidate);
        const sorted = candidates.toSorted((a, b) => b.score - a.score || a.seq - b.seq);
        expect(best.candidates).toEqual(sorted.slice(0, limit));
      }),
    );
  });
});
