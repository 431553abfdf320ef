import { availableParallelism } from 'node:os';
import { SLOW } from './test/slow.js';

const DELETIONS = 'test/project/features.spec.ts'; // ten minutes
const named = process.argv.slice(2).filter((argument) => !/^-|^\d+%?$/.test(argument));
const isWhole = named.length === 0;
const all = isWhole && process.env.ALL === '1';

// Groups of `npm run test:all -- …`, by test/all.js; `browsers` names the browser (some tests in Chromium alone).
const leftOut = [
  ...(process.env.BROWSER ? [] : ['test/browsers/']),
  ...(process.env.GUIDES ? [] : ['test/guides/']),
  ...(process.env.PROVIDERS ? [] : ['test/providers/']),
  ...(process.env.VERIFIERS ? [] : ['test/verifiers/']),
  ...(process.env.INSTALL || all ? [] : ['test/install/', 'packages/embedded-postgres/']),
  ...(process.env.BROWSER === 'chromium' ? [] : ['test/browsers/chromium/']),
  ...(isWhole ? ['test/infra/', ...(all ? [] : [DELETIONS, ...(process.env.SLOW ? [] : SLOW)])] : []),
];
/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/openapi/environment.mjs', // Node.js, and every answer is compared with docs/openapi.json
  // The sources of the packages, as in tsconfig.json; the others are Jest's own defaults.
  testEnvironmentOptions: { customExportConditions: ['@latchkey/source', 'node', 'node-addons'] },
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/packages'],
  testMatch: process.env.SLOW ? SLOW.map((path) => `<rootDir>/${path}`) : ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...leftOut.map((path) => `<rootDir>/${path}`)],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' }, // nodenext imports name the compiled file
  transform: { '^.+\\.ts$': '@swc/jest' }, // by .swcrc, as `npm start`
  runtime: '<rootDir>/test/support/runtime.cjs',
  setupFilesAfterEnv: process.env.BROWSER ? ['<rootDir>/test/browsers/retry.ts'] : [],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  reporters: ['default', '<rootDir>/test/support/skipped.js'],
  testTimeout: process.env.BROWSER ? 90_000 : 180_000, // tests may wait for the processor; a browser that stalls is tried again
  // Twice as many as cores: while one test waits for a timer, a process or a browser, another runs.
  maxWorkers: Math.min(4, 2 * availableParallelism()),
};
