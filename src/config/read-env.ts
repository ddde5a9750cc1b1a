import { validateSync } from 'class-validator';
import { Env, NUMERIC_SETTINGS } from './env.dto.js';
import { nearName } from './near-names.js';

/** Settings as text, the shape of `process.env`. */
export type RawEnv = Readonly<Record<string, string | undefined>>;

// These are secrets or may hold one, which must not reach a log; as may every URL.
const secret = /_URLS?$|_TOKENS?$|_KEYS$/;
const mayHoldPassword = /@|:\/\//;

/**
 * Reads the known settings from text; an empty one counts as not set. Gives the settings (complete
 * only when there are no mistakes) and one sentence per mistake.
 */
export function readEnv(raw: RawEnv): { env: Env; mistakes: string[] } {
  const env = new Env();
  for (const name of Object.keys(env)) {
    const text = raw[name]?.trim();
    if (text === undefined || text === '') continue;
    Object.assign(env, { [name]: NUMERIC_SETTINGS.has(name) ? numberOf(text) : text });
  }
  const mistakes = validateSync(env).flatMap(({ property, constraints }) => {
    const text = raw[property]?.trim() ?? '';
    const isSecret = secret.test(property) || mayHoldPassword.test(text);
    const given = isSecret ? 'has a wrong value' : `is ${JSON.stringify(text)}`;
    const fix = NUMERIC_SETTINGS.has(property) ? inDigits(property, text) : '';
    return Object.values(constraints ?? {}).map(
      (expected) => `${property} ${given}; it ${expected}.${fix}`,
    );
  });
  return { env, mistakes: [...misspelt(raw, Object.keys(env)), ...mistakes] };
}

/** Names that are none of ours and near one: a setting that would be ignored, of which nobody learns. */
function misspelt(raw: RawEnv, known: readonly string[]): string[] {
  return Object.entries(raw).flatMap(([name, text]) => {
    if (known.includes(name) || !text?.trim()) return [];
    const near = nearName(name, known);
    if (near === undefined) return [];
    const file = name.endsWith('_FILE') ? ' A setting is not read from a file that it names.' : '';
    return `${name} is no setting and would be ignored; did you mean ${near}? Rename it, or remove it.${file}`;
  });
}

/** Digits only: what JavaScript also reads as a number (1e4, 0x10) is mostly a slip. */
function numberOf(text: string): number {
  if (text === 'Infinity') return Infinity;
  return /^-?(?:0|[1-9]\d*)$/.test(text) ? Number(text) : NaN;
}

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** How a number was probably meant that is written in another way; '' where nobody can tell. */
function inDigits(name: string, text: string): string {
  const [, amount = text, unit = ''] = /^([\d.]+)\s*(ms|s|m|min|h|d)$/i.exec(text) ?? [];
  const factor = name.endsWith('_MS') ? (unitsMs[unit.toLowerCase()] ?? 1) : 1;
  const meant = Number(amount.replace(/[_,'’\s](?=\d{3}(?:\D|$))/g, '')) * factor;
  return Number.isSafeInteger(meant) && String(meant) !== text ? ` Write ${meant}.` : '';
}
