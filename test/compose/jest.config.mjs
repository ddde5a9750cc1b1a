import base from '../../jest.config.mjs';

/** `npm run test:compose`: apart from `npm test`, since it needs a Docker engine and minutes. */
const { globalSetup: _none, ...rest } = base;
export default {
  ...rest,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/compose/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
