import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { ROOT } from '../../docs/.vitepress/places.js';
import { inChromium, launchChromium } from '../support/chromium.js';
import { stepsOf } from './page.js';
import { Reader } from './reader.js';

const TIMEOUT_MS = 600_000; // packages

/** The commands of docs/agents.md, which end with a program that acts for a user, until the user ends it. */
inChromium('the first page on programs', () => {
  let folder: string;
  let reader: Reader;
  let browser: Browser;

  beforeAll(async () => {
    folder = mkdtempSync('/var/tmp/latchkey-mcp-');
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

  it(
    'lets an assistant use an API until the user ends it in the list of devices',
    async () => {
      const [service, server, client] = stepsOf('docs/agents.md').filter((step) => step.does === 'run');
      await reader.do(service!);
      await reader.do(server!);

      const child = spawn('bash', ['-c', client!.commands.join('\n')], { cwd: join(folder, 'latchkey') });
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const next = async (pattern: RegExp): Promise<string> => {
        for (;;) {
          const { value, done } = await lines.next();
          if (done) throw new Error(`the program ended without ${pattern}`);
          if (pattern.test(value)) return value;
        }
      };

      const signIn = { does: 'sign in', login: 'ada', password: 'analytical-engine' } as const;
      const tab = await browser.newPage();
      reader.begin(tab);
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
    },
    TIMEOUT_MS,
  );
});
