/**
 * A figure for people: three significant digits, thousands apart.
 * @param {number | undefined} value
 * @param {string} [unit]
 */
export function figure(value, unit = '') {
  if (value === undefined || !Number.isFinite(value)) return '–';
  const rounded = Number(value.toPrecision(3));
  const text = Math.abs(rounded) >= 1_000 ? thousands(rounded) : String(rounded);
  return `${text}${unit}`;
}

/** @param {number} value */
const thousands = (value) => String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ' ');

/** @param {number | undefined} part 0 to 1 */
export const percent = (part) => figure(part === undefined ? undefined : part * 100, ' %');

/**
 * A Markdown table.
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 * @param {'figures' | 'text'} [kind] figures stand on the right of their columns
 */
export function table(head, rows, kind = 'figures') {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 || kind === 'text' ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
