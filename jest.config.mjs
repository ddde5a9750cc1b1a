import { swcOptions } from './scripts/support/swc-options.mjs';

const toCommonJs = {
  swcrc: false,
  module: { type: 'commonjs' },
  jsc: { target: 'es2022', parser: { syntax: 'ecmascript' } },
};

// ESM-only packages that CommonJS packages require(): Jest can do that itself only from Node 24.9 on.
const esmOnly = '(?:content-disposition|cookie)';

export default {
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/compose/'], // npm run test:compose
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', swcOptions],
    [`/node_modules/${esmOnly}/.+\\.js$`]: ['@swc/jest', toCommonJs],
  },
  transformIgnorePatterns: [`/node_modules/(?!(?:.+/node_modules/)?${esmOnly}/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  maxWorkers: 2,
  workerIdleMemoryLimit: '512MB',
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/support/count-reporter.mjs'],
};
