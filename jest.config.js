import { swc } from './start/swc.js';
import { runTogether } from './test/support/together.js';

const named = process.argv.slice(2).filter((argument) => !/^-|^\d+%?$/.test(argument));
const isWhole = named.length === 0;
// Run by commands of their own: npm run test:browsers, which names the browser (some in Chromium alone), test:install and test:infra.
const leftOut = [
  ...(process.env.BROWSER ? [] : ['test/browsers/']),
  ...(process.env.INSTALL ? [] : ['test/install/', 'packages/embedded-postgres/']),
  ...(process.env.BROWSER === 'chromium' ? [] : ['test/browsers/chromium/']),
  ...(isWhole ? ['test/infra/'] : []),
];
const shared = isWhole
  ? runTogether(import.meta.dirname, (path) => leftOut.some((folder) => path.startsWith(folder)))
  : named.some((name) => name.includes('together'))
    ? []
    : ['test/together/'];

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/openapi/environment.mjs', // Node.js, and every answer is compared with docs/openapi.json
  // The sources of the packages, as in tsconfig.json; the others are Jest's own defaults.
  testEnvironmentOptions: { customExportConditions: ['@latchkey/source', 'node', 'node-addons'] },
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/packages'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...[...leftOut, ...shared].map((path) => `<rootDir>/${path}`)],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' }, // nodenext imports name the compiled file
  transform: {
    '^.+\\.ts$': ['@swc/jest', swc],
  },
  setupFiles: ['<rootDir>/test/support/setup.ts'],
  setupFilesAfterEnv: process.env.BROWSER ? ['<rootDir>/test/browsers/retry.ts'] : [],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testSequencer: '<rootDir>/test/support/longest-first.js',
  // Three workers, each with a database, browsers and services of its own, share the machine; full experiments take their time.
  testTimeout: process.env.PROOF === '1' ? 1_800_000 : 60_000,
  maxWorkers: 3, // two cores: while one test waits for a timer, a process or a browser, two others go on
};
