#!/usr/bin/env node
import { spawnSync } from 'node:child_process';

// `npm run test:all -- [group] [arguments]`: one of these groups, or else all Jest tests, the slow ones and test/install/ as well.

const node = [process.execPath, '--max-semi-space-size=64'];
const jest = [...node, '--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
const ON_CITUS =
  'test/scim/|test/(?!statements/).*/(citus|distribute|sign-in|races|devices|users|sign-out|channel-history|push-batch|push-batch-delivery|presence|realtime|sample-provider|keys' +
  '|provider-logout|backchannel-logout|step-up|claims|suspended|details|creation|search|export|trail|refusals|facts|search-filters|counts|sign-ins|events|idle|session-limit|session-expiry|admission|recheck|device-grant|effects|receiver|revocation)\\.spec';

const GROUPS = {
  browsers: { command: ['tsx', 'test/browsers/main.ts'], packages: ['test', 'examples/react'] },
  citus: { command: [...jest, '-i', ON_CITUS], needs: 'CITUS_URL' },
  deletions: { command: [...jest, 'test/project/features.spec'], packages: ['test'] },
  guides: { command: [...jest, '-w1', 'test/guides/'], env: { GUIDES: '1' } },
  infra: { command: ['tsx', 'test/infra/main.ts'] },
  install: {
    command: [...jest, 'test/install/', 'packages/embedded-postgres/'],
    env: { INSTALL: '1' },
    packages: ['test'],
  },
  node: { command: ['tsx', 'test/node/main.ts'], packages: ['test'], buildsItself: true },
  providers: {
    command: [...jest, 'test/providers/'],
    env: { PROVIDERS: '1' },
    packages: ['examples/saml'],
  },
  slow: { command: jest, env: { SLOW: '1' }, packages: ['test'] },
  upgrades: { command: ['tsx', 'test/upgrades/main.ts'] },
  verifiers: { command: [...jest, 'test/verifiers/'], env: { VERIFIERS: '1' } },
};

const [name = '', ...rest] = process.argv.slice(2);
const group = Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
process.exitCode = group
  ? runGroup(group, rest)
  : runGroup({ command: jest, env: { ALL: '1' }, packages: ['test'] }, process.argv.slice(2));

/** Builds, and runs the command. @returns its exit code */
function runGroup({ command, env, needs, packages = [], buildsItself = false }, args) {
  if (needs !== undefined && !process.env[needs]) {
    console.error(`npm run test:all -- ${name}: ${needs} is not set`);
    return 2;
  }
  const installed = run([process.execPath, 'install.js', ...packages]);
  if (installed !== 0) return installed;
  const built = buildsItself ? 0 : run(['npm', 'run', '--silent', 'build']);
  return built || run([...command, ...args], env);
}

function run([program, ...args], env = {}) {
  return spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1;
}
