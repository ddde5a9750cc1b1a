import { SourceScanner, UnreadableSourceError } from './source-scanner.js';

/** A parameter as its function's source declares it. */
export interface Parameter {
  /** undefined where it is destructured. */
  readonly name: string | undefined;
  readonly isRest: boolean;
  readonly hasDefault: boolean;
}

type AnyFunction = (...args: never[]) => unknown;

/** The parameters behind our own wrappers, so that a method can be decorated twice. */
const wrapped = new WeakMap<AnyFunction, readonly Parameter[] | undefined>();

/** From now on the parameters of `wrapper` are those of `original`. */
export function keepParameters(original: AnyFunction, wrapper: AnyFunction): void {
  wrapped.set(wrapper, parametersOf(original));
}

/**
 * The parameters of a function, read from its source; undefined where the source does not tell
 * (native and bound functions). Costs one walk over the parameter list.
 */
export function parametersOf(fn: AnyFunction): readonly Parameter[] | undefined {
  if (wrapped.has(fn)) return wrapped.get(fn);
  const source = Function.prototype.toString.call(fn);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) return undefined;
  try {
    const parameters = readParameters(source);
    return fits(parameters, fn) ? parameters : undefined;
  } catch (error) {
    if (error instanceof UnreadableSourceError) return undefined;
    throw error;
  }
}

/** @throws UnreadableSourceError */
function readParameters(source: string): readonly Parameter[] {
  const scanner = new SourceScanner(source);
  let last = '';
  // Before the list stand only: async, function, *, a name (word, string or [computed]).
  while (scanner.peek() !== '(') {
    if (scanner.peek() === '=>') return [{ name: last, isRest: false, hasDefault: false }];
    last = scanner.take();
  }
  scanner.enter();
  const parameters: Parameter[] = [];
  while (scanner.peek() !== ')') {
    parameters.push(readParameter(scanner));
    if (scanner.peek() === ',') scanner.take();
  }
  return parameters;
}

function readParameter(scanner: SourceScanner): Parameter {
  const isRest = scanner.peek() === '...';
  if (isRest) scanner.take();
  const isPattern = scanner.peek() === '{' || scanner.peek() === '[';
  const text = scanner.take();
  const hasDefault = scanner.peek() === '=';
  while (scanner.peek() !== ',' && scanner.peek() !== ')') scanner.take(); // a default value
  return { name: isPattern ? undefined : text, isRest, hasDefault };
}

/** A second opinion: a misread list would lock the wrong name. Wrappers may lie about their length. */
function fits(parameters: readonly Parameter[], fn: AnyFunction): boolean {
  if (parameters[0]?.isRest) return true;
  const firstOptional = parameters.findIndex(({ isRest, hasDefault }) => isRest || hasDefault);
  return fn.length === (firstOptional < 0 ? parameters.length : firstOptional);
}
