/**
 * Measures every peer in every round: A B C, then B C A, so that neither a busy moment of the machine
 * nor a place in the order falls on one peer alone.
 *
 * @template T
 * @param {readonly import('./peer-pair.mjs').PeerPair[]} pairs
 * @param {number} rounds
 * @param {(pair: import('./peer-pair.mjs').PeerPair) => Promise<T>} measure
 * @returns {Promise<Record<string, T[]>>} by peer, a figure per round
 */
export async function interleave(pairs, rounds, measure) {
  const results = Object.fromEntries(pairs.map(({ id }) => [id, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < pairs.length; index += 1) {
      const pair = pairs[(index + round) % pairs.length];
      results[pair.id].push(await measure(pair));
    }
  }
  return results;
}
