/** How TypeScript becomes JavaScript for whatever runs it unbuilt: Jest, and `run-typescript.mjs`. */
export const swcOptions = {
  swcrc: false,
  module: { type: 'es6' },
  sourceMaps: 'inline',
  jsc: {
    externalHelpers: true, // the inlined helper for `await using` loses both errors when body and disposal fail
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
};
