import { swcOptions } from './scripts/support/swc-options.mjs';

const toCommonJs = {
  swcrc: false,
  module: { type: 'commonjs' },
  jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } },
};

// ESM-only packages that CommonJS packages require(): Jest can do that itself only from Node 24.9 on.
const esmOnly = '(?:content-disposition|cookie)';

/** What every test file is run with, whatever its tier. */
export const testFiles = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', swcOptions],
    [`/node_modules/${esmOnly}/.+\\.js$`]: ['@swc/jest', toCommonJs],
  },
  transformIgnorePatterns: [`/node_modules/(?!(?:.+/node_modules/)?${esmOnly}/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
};

/** What a whole run is made with. */
export const run = {
  maxWorkers: 2,
  workerIdleMemoryLimit: '512MB',
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/support/count-reporter.mjs'],
};

const tier = (displayName, testMatch, rest = {}) => ({
  ...testFiles,
  displayName,
  testMatch: testMatch.map((pattern) => `<rootDir>/${pattern}`),
  ...rest,
});
const withServers = { globalSetup: '<rootDir>/test/support/global-setup.ts' };

export default {
  ...run,
  projects: [
    tier('unit', ['src/**/*.spec.ts', 'test/docs/**/*.spec.ts']), // no server, no built service
    tier('integration', ['test/integration/**/*.spec.ts', 'test/faults/**/*.spec.ts'], withServers),
    tier('e2e', ['test/e2e/**/*.spec.ts'], withServers),
  ],
};
