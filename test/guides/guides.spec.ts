import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { documents } from '../../docs/.vitepress/linked-files.js';
import { ROOT } from '../../docs/.vitepress/places.js';
import { inChromium, launchChromium } from '../support/chromium.js';
import { stepsOf, type Step } from './page.js';
import { Reader } from './reader.js';

/** Pages with shell commands that no test replays, with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'README.md': '`npm test` is the whole suite; the first command is that of docs/index.md',
  'CONTRIBUTING.md': 'a list of commands, most of which .ci/run and .ci/nightly run',
  'AGENTS.md': 'as CONTRIBUTING.md',
  'docs/agents.md': 'the last test below',
  'docs/mcp.md': 'test/verifiers/mcp.spec.ts runs its programs',
  'docs/guides/native.md': 'native.spec.ts and cli-example.spec.ts run its programs',
  'docs/guides/from-auth-js.md': 'moving/from-auth-js.spec.ts moves an application',
  'docs/guides/from-supabase.md': 'moving/from-supabase.spec.ts moves an application',
  'docs/guides/from-keycloak-js.md': 'moving/from-keycloak-js.spec.ts moves an application',
  'docs/guides/other-languages.md': 'other-languages.spec.ts runs its programs',
  'verifiers/go/README.md': 'a command in a module of your own; other-languages.spec.ts makes one',
  'docs/guides/callback-page.md': 'a command in a build of your own',
  'docs/guides/moving-in.md': 'a command in production; moving/import-users.spec.ts runs the script',
  'docs/guides/roles.md': 'settings, and calls of a service in production',
  'docs/check.md': 'check-config.spec.ts and check-provider.spec.ts run the commands',
  'docs/device-sign-in.md': 'calls of a service in production; cli-example.spec.ts runs the program',
  'docs/directory.md': 'calls of a service in production',
  'docs/signals.md': 'needs a provider with signals; signals-command.spec.ts runs the command',
  'docs/audit.md': 'a call of a service in production',
  'docs/database.md': 'needs a second database; the specs of test/database/ move one',
  'docs/realtime.md': 'a call with placeholders; the quick start has one without',
  'docs/providers.md': 'a command that asks for a password; password-hash.spec.ts has its hashes',
  'docs/provider-contract.md': 'needs a provider of your own; check-provider.spec.ts runs the command',
  'docs/stock-clients.md': 'calls of a service in production',
  'docs/ended-sessions.md': 'a call of a service in production, which never ends',
  'docs/support.md': 'calls of a service in production',
  'docs/administration.md': 'a call of a service in production',
  'docs/production.md':
    'needs a server with a certificate and a provider; start.spec.ts starts such a service',
  'docs/containers.md': 'needs Docker or Kubernetes',
  'docs/maintenance.md': 'needs a database in production',
  'docs/keys.md': 'needs a service that has run for a while; keys-command.spec.ts runs the commands',
  'docs/supply-chain.md': 'needs a registry that answers `npm audit`',
  'docs/reliability.md': 'experiments, which .ci/nightly runs',
  'docs/benchmark.md': 'hours of measurements',
  'examples/saml/README.md': 'needs an identity provider; keycloak-saml.spec.ts runs it',
  'packages/check-provider/README.md': 'as docs/provider-contract.md',
  'examples/contract-provider/README.md': 'three sign-ins by hand; check-provider.spec.ts runs both programs',
};

/** Of a page: downloads and compilers. */
const TIMEOUT_MS = 1_800_000;

const hasCommands = (page: string): boolean => stepsOf(page).some(({ does }) => does === 'run');
/** In the order of the sidebar; then the pages that these link to. */
const PAGES = [...documents(), 'README.md'].filter(hasCommands);

it('gives a reason for each page that is not replayed, and only for these', () => {
  expect(PAGES).toEqual(expect.arrayContaining(Object.keys(LEFT_OUT)));
});

/** As on the machine of a new user: a clone, and the folders of the guides beside it. Needs the network and fixed ports. */
inChromium('the guides, one after the other', () => {
  let folder: string;
  let reader: Reader;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync('/var/tmp/latchkey-guides-'); // on a disk: gigabytes, and Jest's TMPDIR is in memory
    chmodSync(folder, 0o755); // PostgreSQL may run as another account
    execFileSync('git', ['clone', '--quiet', ROOT, 'latchkey'], { cwd: folder });
    reader = new Reader(join(folder, 'latchkey'));
    browser = await launchChromium();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser?.close();
    await reader?.close();
    rmSync(folder, { recursive: true, force: true });
  }, TIMEOUT_MS);

  it.each(PAGES.filter((page) => !(page in LEFT_OUT)))(
    '%s',
    async (page) => {
      const context = await browser.newContext();
      const tab = await context.newPage();
      const faults: string[] = [];
      tab.on('pageerror', ({ message }) => void faults.push(message));
      reader.begin(tab);
      process.stdout.write(`\n${page}\n`);
      try {
        for (const step of stepsOf(page)) await timed(step, () => reader.do(step));
      } finally {
        await context.close();
        await reader.end();
      }
      expect(faults).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'docs/agents.md: an assistant uses an API until its user ends it in the list of devices',
    async () => {
      await reader.close(); // this service has AGENTS_FILE
      const [service, server, client] = stepsOf('docs/agents.md').filter((step) => step.does === 'run');
      const tab = await browser.newPage();
      reader.begin(tab);
      await reader.do(service!);
      await reader.do(server!);
      const child = spawn('bash', ['-c', client!.commands.join('\n')], { cwd: join(folder, 'latchkey') });
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const next = async (pattern: RegExp): Promise<string> => {
        for (;;) {
          const { value, done } = await lines.next();
          if (done) throw new Error(`the assistant ended without ${pattern}`);
          if (pattern.test(value)) return value;
        }
      };
      const signIn = { does: 'sign in', login: 'ada', password: 'analytical-engine' } as const;
      await tab.goto(await next(/^http/));
      await reader.do(signIn);
      await tab.getByRole('button', { name: 'Allow', exact: true }).click();
      await next(/a book/);
      await tab.goto('http://localhost:3000');
      await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
      await reader.do(signIn);
      await tab.getByRole('button', { name: 'End Example Assistant' }).click();
      await tab.getByRole('button', { name: 'End', exact: true }).click(); // of the question
      await next(/The user has ended this program/);
      await reader.close();
    },
    TIMEOUT_MS,
  );
});

/** Prints each step with its time, also if it fails. */
async function timed(step: Step, work: () => Promise<void>): Promise<void> {
  const { does, ...details } = step;
  const what = 'commands' in step ? step.commands.join('\n                  ') : Object.values(details)[0];
  const began = performance.now();
  let isDone = false;
  try {
    await work();
    isDone = true;
  } finally {
    const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
    process.stdout.write(`${seconds} s  ${isDone ? does.padEnd(8) : 'FAILED: '}${String(what)}\n`);
  }
}
