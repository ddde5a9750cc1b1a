import { validateSync } from 'class-validator';
import { Env, NUMERIC_SETTINGS } from './env.dto.js';

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
    Object.assign(env, { [name]: NUMERIC_SETTINGS.has(name) ? Number(text) : text });
  }
  const mistakes = validateSync(env).flatMap(({ property, constraints }) => {
    const text = raw[property]?.trim() ?? '';
    const isSecret = secret.test(property) || mayHoldPassword.test(text);
    const given = isSecret ? 'has a wrong value' : `is ${JSON.stringify(text)}`;
    return Object.values(constraints ?? {}).map(
      (expected) => `${property} ${given}; it ${expected}.`,
    );
  });
  return { env, mistakes };
}
