import { availableParallelism } from 'node:os';

const named = process.argv.slice(2).filter((argument) => !/^-|^\d+%?$/.test(argument));
const isWhole = named.length === 0;
const all = isWhole && process.env.ALL === '1';

// Too slow for every change: `npm run test:all -- slow` runs these.
const SLOW = [
  'packages/check-provider/test/check-provider.spec.ts',
  'packages/server/test/away.spec.ts',
  'packages/server/test/faults.spec.ts',
  'test/attacks/broken-requests.spec.ts',
  'test/attacks/deep-data.spec.ts',
  'test/attacks/directory-work.spec.ts',
  'test/attacks/failed-passwords.spec.ts',
  'test/attacks/frozen-database.spec.ts',
  'test/attacks/growing-user.spec.ts',
  'test/attacks/heavy-reads.spec.ts',
  'test/attacks/many-endings.spec.ts',
  'test/attacks/one-large-user.spec.ts',
  'test/attacks/ping-flood.spec.ts',
  'test/attacks/polling-handshakes.spec.ts',
  'test/attacks/redis-messages.spec.ts',
  'test/attacks/shared-address.spec.ts',
  'test/attacks/upgrades.spec.ts',
  'test/attacks/webhook-queue.spec.ts',
  'test/audit/stream.spec.ts',
  'test/audit/webhook-kills.spec.ts',
  'test/audit/webhooks.spec.ts',
  'test/auth/cli-example.spec.ts',
  'test/auth/client-redirects.spec.ts',
  'test/auth/guide-plain.spec.ts',
  'test/config/check-config.spec.ts',
  'test/config/rotated-secrets.spec.ts',
  'test/database/clock.spec.ts',
  'test/database/crash.spec.ts',
  'test/database/migrate.spec.ts',
  'test/database/shared-database.spec.ts',
  'test/http/open-files.spec.ts',
  'test/operations/backup.spec.ts',
  'test/operations/move-database.spec.ts',
  'test/operations/traces.spec.ts',
  'test/project/features.spec.ts',
  'test/project/first-minute.spec.ts',
  'test/project/quick-start.spec.ts',
  'test/provider/cas.spec.ts',
  'test/provider/check-provider.spec.ts',
  'test/realtime/realtime-abuse.spec.ts',
  'test/realtime/realtime-clients.spec.ts',
  'test/realtime/realtime-cluster.spec.ts',
  'test/stock-libraries/more-libraries.spec.ts',
  'test/stock-libraries/oidc-client-ts.spec.ts',
  'test/upgrades/beside.spec.ts',
  'test/upgrades/page.spec.ts',
];
// Groups of `npm run test:all -- …`, by test/all.js; `browsers` names the browser (some tests in Chromium alone).
const leftOut = [
  ...(process.env.BROWSER ? [] : ['test/browsers/']),
  ...(process.env.GUIDES ? [] : ['test/guides/']),
  ...(process.env.PROVIDERS ? [] : ['test/providers/']),
  ...(process.env.VERIFIERS ? [] : ['test/verifiers/']),
  ...(process.env.INSTALL || all ? [] : ['test/install/', 'packages/embedded-postgres/']),
  ...(process.env.BROWSER === 'chromium' ? [] : ['test/browsers/chromium/']),
  ...(isWhole ? ['test/infra/', ...(all || process.env.SLOW ? [] : SLOW)] : []),
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
