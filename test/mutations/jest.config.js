import base from '../../jest.config.js';
import { swc } from '../../start/swc.js';

/**
 * Jest for the mutations: the sources of the rooms come instrumented (transform.mjs), and the specs are run many times
 * (spec-runner.ts). PostgreSQL was started by main.ts.
 *
 * @type {import('jest').Config}
 */
export default {
  ...base,
  rootDir: '../..',
  globalSetup: undefined,
  globalTeardown: undefined,
  testRunner: '<rootDir>/test/mutations/spec-runner.ts',
  transform: { '^.+\\.ts$': ['<rootDir>/test/mutations/transform.mjs', swc] },
};
