import { LockUnavailableError } from '../../core/lock.errors.js';

/**
 * Answers of scripts, checked before anything is concluded from them: an option of the driver, a transformer
 * or another version's script may have changed them. Each passes the answer on that it knows.
 * @throws LockUnavailableError for any other: the command may have run
 */
export function oneOf<T extends number | string>(
  answer: unknown,
  known: readonly T[],
  name: string | undefined,
): T {
  if (known.includes(answer as T)) return answer as T;
  throw unknownAnswer(answer, name);
}

type Elements<F extends readonly ('number' | 'string')[]> = {
  [K in keyof F]: F[K] extends 'number' ? number : string;
};

/** A list whose elements are of the types that `form` names, as far as it goes. */
export function listOf<const F extends readonly ('number' | 'string')[]>(
  answer: unknown,
  form: F,
  name: string | undefined,
): readonly [...Elements<F>, ...unknown[]] {
  const list = Array.isArray(answer) ? (answer as unknown[]) : [];
  const fits = form.every(
    (type, index) => typeof list[index] === type && !Number.isNaN(list[index]),
  );
  if (Array.isArray(answer) && fits) return answer as unknown as [...Elements<F>, ...unknown[]];
  throw unknownAnswer(answer, name);
}

export function unknownAnswer(answer: unknown, name: string | undefined): LockUnavailableError {
  const shown = JSON.stringify(answer)?.slice(0, 100);
  return new LockUnavailableError(
    name,
    `Redis: the answer ${shown} has none of the forms that the script's answers have, so nothing follows from it. Look for what changes replies: an option or transformer of the client, or a proxy in between`,
  );
}
