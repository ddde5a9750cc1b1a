import { LockOptionsError } from './lock.errors.js';

/** The longest escaped name, in characters. Redis would take more; nobody needs it. */
export const MAX_NAME_LENGTH = 1024;

// White space, control and line characters, and what has a meaning in keys (`{ } %`).
const plain = /^[\w:./-]+$/;
const unsafe = /[\s\p{Cc}\u2028\u2029{}%]/gu;
const escapedForm = /^(?:%[0-9A-F]{2}|[^\s\p{Cc}\u2028\u2029{}%])*$/u;
const unsafeInValue = /[\s\p{Cc}\u2028\u2029{}%:]/gu;

function percent(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

function checked(raw: string, what: string): string {
  if (typeof raw !== 'string') {
    throw new LockOptionsError(
      `${what} must be a string, not ${raw === null ? 'null' : typeof raw}.`,
    );
  }
  if (raw.length > MAX_NAME_LENGTH) {
    throw new LockOptionsError(`${what} is longer than ${MAX_NAME_LENGTH} characters.`);
  }
  if (/\p{Cs}/u.test(raw)) {
    throw new LockOptionsError(
      `${what} holds half of a surrogate pair, which no store can keep apart.`,
    );
  }
  return raw;
}

/**
 * The name of a lock in its escaped form, in which `{ } %`, white space and control characters are
 * percent-encoded, so that no name can break a key's hash tag or equal another name. Two names are the
 * same lock exactly if their escaped forms are equal (no Unicode normalisation, no case folding).
 */
export class LockName {
  private constructor(readonly escaped: string) {}

  /** Escapes a name as a whole: `:` keeps its meaning. A LockName is taken as it is. */
  static of(name: string | LockName): LockName {
    if (name instanceof LockName) return name;
    if (typeof name === 'string' && plain.test(name) && name.length <= MAX_NAME_LENGTH) {
      return new LockName(name);
    }
    return LockName.build(checked(name, 'A lock name').replace(unsafe, percent));
  }

  /**
   * The name with this escaped form, as `list()` tells it.
   * @throws LockOptionsError for what is no escaped form
   */
  static ofEscaped(escaped: string): LockName {
    if (escapedForm.test(checked(escaped, 'A lock name'))) return LockName.build(escaped);
    throw new LockOptionsError(`"${escaped}" is not the escaped form of a lock name.`);
  }

  /**
   * Joins fixed parts and values. In the values `:` is escaped, and between two values there must be
   * one, so that no two lists of values give the same name.
   */
  static join(parts: readonly string[], values: readonly LockNameValue[]): LockName {
    let escaped = '';
    if (parts.slice(1, values.length).some((part) => !part.includes(':'))) {
      throw new LockOptionsError(
        'Between two values of a lock name there must be a ":", or "a-b" and "c" would be the same lock as "a" and "b-c".',
      );
    }
    parts.forEach((part, index) => {
      escaped += checked(part, 'A lock name').replace(unsafe, percent);
      if (index < values.length) escaped += escapeValue(values[index], `value ${index + 1}`);
    });
    return LockName.build(escaped);
  }

  private static build(escaped: string): LockName {
    if (escaped === '') throw new LockOptionsError('A lock name must not be empty.');
    if (escaped.length > MAX_NAME_LENGTH) {
      throw new LockOptionsError(
        `A lock name is longer than ${MAX_NAME_LENGTH} characters when escaped.`,
      );
    }
    return new LockName(escaped);
  }

  toString(): string {
    return this.escaped;
  }
}

/** The part of an escaped name before the first `:`, by which holds are summed up for Retry-After. */
export function nameFamily(escaped: string): string {
  const colon = escaped.indexOf(':');
  return colon < 0 ? escaped : escaped.slice(0, colon);
}

/** The most locks that can be taken together. */
const MOST_NAMES = 100;

/** The escaped forms, sorted and without repetition: the order in which sets of locks are taken. */
export function sortedNames(
  names: string | LockName | readonly (string | LockName)[],
): readonly string[] {
  const list: readonly (string | LockName)[] =
    typeof names === 'string' || names instanceof LockName ? [names] : names;
  if (!Array.isArray(list) || list.length === 0 || list.length > MOST_NAMES) {
    throw new LockOptionsError(`A lock needs a name, or 1 to ${MOST_NAMES} of them.`);
  }
  return [...new Set(list.map((name) => LockName.of(name).escaped))].sort();
}

/** What may stand in a name's placeholder: everything else would give names such as `doc:[object Object]`. */
export type LockNameValue = string | number | bigint | boolean;

/**
 * The escaped form of one value of a name.
 * @throws LockOptionsError for undefined, null, NaN, infinite numbers, empty strings, objects, arrays, functions and symbols
 */
export function escapeValue(value: unknown, what: string): string {
  switch (typeof value) {
    case 'string':
      if (value === '')
        throw new LockOptionsError(`The ${what} of a lock name is an empty string.`);
      return checked(value, `The ${what} of a lock name`).replace(unsafeInValue, percent);
    case 'number':
      if (!Number.isFinite(value))
        throw new LockOptionsError(`The ${what} of a lock name is ${value}.`);
      return String(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    default: {
      const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
      throw new LockOptionsError(
        `The ${what} of a lock name is ${kind}; only strings, numbers, bigints and booleans can name a lock.`,
      );
    }
  }
}

/** A lock name from a template literal, values escaped: lockName`doc:${id}`. */
export function lockName(parts: TemplateStringsArray, ...values: LockNameValue[]): LockName {
  return LockName.join(parts, values);
}
