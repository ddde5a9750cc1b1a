/**
 * The value below which the given part of the values lies, interpolated between neighbours.
 * @param {readonly number[]} values
 * @param {number} part 0 to 1
 * @returns {number} NaN for no values
 */
export function quantile(values, part) {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** @param {readonly number[]} values */
export const median = (values) => quantile(values, 0.5);

/** @param {readonly number[]} values */
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The largest value; does not use the call stack, as Math.max(...values) does.
 * @param {readonly number[]} values
 */
export const largest = (values) =>
  values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);

/**
 * Medians, field by field, of figures measured in several rounds.
 * @param {readonly Record<string, number>[]} rounds
 * @returns {Record<string, number>}
 */
export function medians(rounds) {
  const fields = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(
    fields.map((field) => [field, median(rounds.map((round) => round[field] ?? NaN))]),
  );
}

/**
 * The median of the ratios of two peers, round by round: what disturbs a round disturbs both, so it
 * is steadier on a busy machine than the ratio of two medians.
 * @param {readonly Record<string, number>[]} ours
 * @param {readonly Record<string, number>[]} theirs
 * @param {string} field
 */
export function medianRatio(ours, theirs, field) {
  return median(
    ours.map((round, index) => (round[field] ?? NaN) / (theirs[index]?.[field] ?? NaN)),
  );
}
