import { escapeValue, LockName, type LockNameValue } from '../core/lock-name.js';
import { LockOptionsError } from '../core/lock.errors.js';
import type { Parameter } from './parameter-names.js';

/** `<id>` or `<dto.id>` in a template: a parameter's index and the fields to follow from it. */
interface Placeholder {
  readonly text: string;
  readonly index: number;
  readonly fields: readonly string[];
}

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const forbidden = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * Turns `doc:<id>` into a function from the arguments of a call to the lock's name.
 * @param site the decorated method, for messages
 * @throws LockOptionsError for a template that cannot work, telling why and what would
 */
export function compileTemplate(
  template: string,
  parameters: readonly Parameter[] | undefined,
  site: string,
): (args: readonly unknown[]) => LockName {
  const { parts, expressions } = split(template, site);
  const placeholders = expressions.map((text) => resolve(text, parameters, site));
  // Checks the fixed parts now, with values that are surely good.
  withSite(site, () =>
    LockName.join(
      parts,
      placeholders.map(() => 'x'),
    ),
  );
  return (args) =>
    LockName.join(
      parts,
      placeholders.map((wanted) => valueOf(wanted, args, site)),
    );
}

function split(template: string, site: string): { parts: string[]; expressions: string[] } {
  const parts: string[] = [];
  const expressions: string[] = [];
  let rest = template;
  for (let open = rest.indexOf('<'); open >= 0; open = rest.indexOf('<')) {
    const close = rest.indexOf('>', open);
    if (close < 0) throw new LockOptionsError(`${site}: a "<" of the lock name has no ">".`);
    parts.push(rest.slice(0, open));
    expressions.push(rest.slice(open + 1, close));
    rest = rest.slice(close + 1);
  }
  parts.push(rest);
  if (parts.some((part) => part.includes('>'))) {
    throw new LockOptionsError(`${site}: a ">" of the lock name has no "<".`);
  }
  return { parts, expressions };
}

function resolve(
  text: string,
  parameters: readonly Parameter[] | undefined,
  site: string,
): Placeholder {
  const [name = '', ...fields] = text.split('.');
  const bad = [name, ...fields].find((word) => !identifier.test(word) || forbidden.has(word));
  if (bad !== undefined) {
    throw new LockOptionsError(
      `${site}: the placeholder <${text}> is not a parameter's name, or one with fields such as <dto.id>. ${functionForm(parameters)}`,
    );
  }
  const index = parameters?.findIndex((parameter) => parameter.name === name) ?? -1;
  if (index < 0 || parameters?.[index]?.isRest) {
    throw new LockOptionsError(
      `${site}: the placeholder <${text}> names no parameter: ${whyNot(name, parameters)}. ${functionForm(parameters)}`,
    );
  }
  return { text, index, fields };
}

function whyNot(name: string, parameters: readonly Parameter[] | undefined): string {
  if (!parameters)
    return "the method's source does not tell its parameters (it is native, bound or wrapped)";
  const found = `the method's source has (${parameters.map(show).join(', ')})`;
  if (parameters.some((parameter) => parameter.isRest && parameter.name === name)) {
    return `${found}, and a list cannot name a lock`;
  }
  if (parameters.length === 0 || parameters[0]?.isRest) {
    return `${found}; probably another decorator has already wrapped it (then put @WithLock below that one)`;
  }
  if (parameters.some((parameter) => parameter.name === undefined)) {
    return `${found}, where a destructured parameter has no name`;
  }
  return `${found}; it is misspelt, minified, or hidden by another decorator that has already wrapped the method (then put @WithLock below that one)`;
}

function functionForm(parameters: readonly Parameter[] | undefined): string {
  const list = parameters?.length ? parameters.map(show).join(', ') : '...args';
  return `Or compute the name: @WithLock((${list}) => lockName\`…\`).`;
}

function show({ name, isRest }: Parameter): string {
  return `${isRest ? '...' : ''}${name ?? '{…}'}`;
}

function valueOf(
  { text, index, fields }: Placeholder,
  args: readonly unknown[],
  site: string,
): LockNameValue {
  let value = args[index];
  for (const field of fields) value = readField(value, field);
  escapeValue(value, `value of <${text}> in ${site}`);
  return value as LockNameValue;
}

/** An object's own field, or a getter of its class; never what every object inherits. */
function readField(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, field)) return (value as Record<string, unknown>)[field];
  for (
    let prototype: unknown = Object.getPrototypeOf(value);
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const property = Object.getOwnPropertyDescriptor(prototype, field);
    if (property?.get) return property.get.call(value) as unknown;
  }
  return undefined;
}

function withSite(site: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof LockOptionsError)) throw error;
    throw new LockOptionsError(`${site}: ${error.message}`);
  }
}
