// Makes the pictures of the demo page and the administration page in docs/pictures/ anew: `npx --no-install tsx test/pictures/main.ts`, after `npm run build`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { signInAs } from '../browsers/admin-visitor.js';
import { DemoVisitors, isSignedIn, provider, signInButton } from '../browsers/demo-visitor.js';
import { startServiceProcess } from '../support/service-process.js';
import { ADMIN_ANSWERS, USER_VIEW } from './admin-answers.js';

const FOLDER = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const DESKTOP = { width: 1240, height: 1020 };
const PHONE = 'Mozilla/5.0 (Linux; Android 15; Mobile) Chrome/140.0';
/** Milliseconds in which the sentences about the steps have all been shown, and the other device is seen to be online. */
const SETTLED = 16_000;

globalThis.answered = () => undefined; // answers are compared with the documents in tests only
const data = mkdtempSync(join(tmpdir(), 'latchkey-pictures-'));
const service = await startServiceProcess({ DATA_DIR: data });
const visitors = await DemoVisitors.launch();

async function enter(options: BrowserContextOptions, name: string): Promise<Page> {
  const page = await visitors.open(options);
  await page.goto(service.url);
  await signInButton(page).click();
  await provider(page).getByLabel('Password').waitFor();
  if (name === 'dialog') return page;
  await provider(page).getByRole('button', { name: 'Ada' }).click();
  await isSignedIn(page);
  await page
    .getByRole('button', { name: /^Rename/ })
    .first()
    .click();
  await page.getByRole('textbox', { name: 'Name of the device' }).fill(name);
  await page.getByRole('button', { name: 'Save' }).click();
  return page;
}

/** The administration page, with answers that are made up. */
async function administer(): Promise<void> {
  const page = await visitors.open({ viewport: { width: 1240, height: 900 } });
  await page.route(
    ({ pathname }) => pathname in ADMIN_ANSWERS,
    (route) => route.fulfill({ json: ADMIN_ANSWERS[new URL(route.request().url()).pathname] }),
  );
  await signInAs(page, `${service.url}/admin`, 'Ada');
  await page.getByText('Example Corp').waitFor();
  await picture(page, 'admin-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(service.url + USER_VIEW);
  await page.getByText('Work laptop').first().waitFor();
  await picture(page, 'admin-user-dark');
}

async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
}

try {
  await administer();
  await picture(await enter({ viewport: { ...DESKTOP, height: 900 } }, 'dialog'), 'dialog');
  const phone = await enter({ viewport: { width: 390, height: 844 }, userAgent: PHONE }, 'Ada’s phone');
  const desktop = await enter({ viewport: DESKTOP }, 'Ada’s laptop');
  await desktop.getByRole('button', { name: 'Push' }).click();
  await desktop.waitForTimeout(SETTLED);
  await picture(desktop, 'demo-light');
  await desktop.emulateMedia({ colorScheme: 'dark' });
  await picture(desktop, 'demo-dark');
  await picture(phone, 'demo-phone');
} finally {
  await visitors.close();
  await service.end('SIGTERM');
  rmSync(data, { recursive: true });
}
