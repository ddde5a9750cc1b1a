import { run, testFiles } from '../../jest.config.mjs';

/** `npm run test:compose`: apart from `npm test`, since it needs a Docker engine and minutes. */
export default {
  ...run,
  ...testFiles,
  testMatch: ['<rootDir>/test/compose/*.spec.ts'],
  maxWorkers: 1,
};
