import 'reflect-metadata';

type AnyFunction = (...args: never[]) => unknown;

const ownToEveryFunction = new Set<string | symbol>([
  'length',
  'name',
  'prototype',
  'arguments',
  'caller',
]);

/**
 * Makes `wrapper` pass for `original` with everybody who looks at a method: name, length, what other
 * decorators have put on it so far (metadata and properties). What they add later lands on the
 * wrapper by itself.
 */
export function copyIdentity(original: AnyFunction, wrapper: AnyFunction): void {
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(wrapper, key, { value: original[key], configurable: true });
  }
  for (const key of Reflect.ownKeys(original)) {
    const property = Object.getOwnPropertyDescriptor(original, key);
    if (property && !ownToEveryFunction.has(key)) Object.defineProperty(wrapper, key, property);
  }
  for (const key of Reflect.getOwnMetadataKeys(original) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, original), wrapper);
  }
}
