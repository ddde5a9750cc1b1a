/**
 * Does to a method what TypeScript's decorators do, since this is plain JavaScript.
 * @param {Function} target the class
 * @param {string} name of the method
 * @param {readonly MethodDecorator[]} decorators outermost first
 * @param {readonly ParameterDecorator[]} parameters one per parameter
 */
export function decorate(target, name, decorators, parameters) {
  const { prototype } = target;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  parameters.forEach((parameter, index) => parameter(prototype, name, index));
  for (const decorator of [...decorators].reverse()) decorator(prototype, name, descriptor);
  Object.defineProperty(prototype, name, descriptor);
}
