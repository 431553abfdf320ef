import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';
import { stepsOf } from './page.js';

interface Helper {
  readonly signIn: (page: Page, login: string, password: string) => Promise<void>;
}

inChromium('the helper for Playwright of docs/test-your-application.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-helper-'));
  let browser: Browser;
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ DEMO_ENABLED: 'true' });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  it('signs in through the dialog of an application', async () => {
    const steps = stepsOf('docs/test-your-application.md');
    const file = steps.find((step) => step.does === 'write' && step.file === 'sign-in.js');
    const place = join(folder, 'sign-in.mjs');
    writeFileSync(place, (file as { text: string }).text);
    const { signIn } = (await import(pathToFileURL(place).href)) as Helper;
    const page = await browser.newPage();
    await page.goto(service.url);
    page.setDefaultTimeout(120_000); // the machine may be busy
    await signIn(page, 'ada', 'analytical-engine');
    await page.getByText('Ada Lovelace').first().waitFor();
  });
});
