import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ExampleProject } from '../../support/example-project.js';
import { startTestService, type TestService } from '../../support/service.js';

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../examples/react/${file}`, import.meta.url)), 'utf8');

inChromium('examples/react', () => {
  const key = /'([\w-]{32,})'/.exec(read('api.ts'))![1]!;
  let service: TestService;
  let example: ExampleProject;
  let served: Awaited<ReturnType<ExampleProject['serve']>>;
  let browser: Browser;
  const complaints: string[] = [];

  beforeAll(async () => {
    service = await startTestService({ SERVICE_KEYS: key });
    example = await ExampleProject.install();
    const env = { VITE_LATCHKEY_URL: service.url };
    expect(await example.vite('build', env)).toMatchObject({ code: 0 });
    served = await example.serve(env);
    browser = await launchChromium();
  }, 120_000); // it may be the one that packs the packages
  afterAll(async () => {
    await browser?.close();
    await served?.close();
    await example?.remove();
    await service?.close();
  });

  async function device(): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', ({ message }) => complaints.push(message));
    await page.goto(served.url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const form = page.frameLocator('iframe');
    await form.getByLabel('User name').fill('ada');
    await form.getByLabel('Password').fill('analytical-engine');
    await form.getByLabel('Password').press('Enter');
    await page.getByText('Live on all your devices').waitFor();
    return page;
  }

  it('is 60 lines of source at most', () => {
    const lines = ['api.ts', 'src/main.tsx'].flatMap((file) => read(file).trimEnd().split('\n'));
    expect(lines.length).toBeLessThanOrEqual(60);
  });

  it('tells the reader the key that its API has', () => {
    expect(read('README.md')).toContain(`SERVICE_KEYS=${key} npm start`);
  });

  it('has types that hold', async () => {
    expect(await example.types()).toBe('');
  });

  it('has an API that is closed to strangers', async () => {
    const answer = await fetch(`${served.url}/api/list`);
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'invalid_token' }]);
  });

  it('keeps a list that is the same on all devices at once, until one is signed out', async () => {
    const laptop = await device();
    const phone = await device();
    const add = async (item: string): Promise<void> => {
      await laptop.getByPlaceholder('What is missing?').fill(item);
      await laptop.getByRole('button', { name: 'Add' }).click();
      await phone.getByRole('button', { name: item }).waitFor();
    };
    await add('Bread');
    await add('Coffee');
    await phone.reload();
    await phone.getByRole('button', { name: 'Bread' }).click();
    await laptop.getByRole('button', { name: 'Bread' }).waitFor({ state: 'detached' });
    expect(await laptop.getByRole('button', { name: 'Coffee' }).count()).toBe(1);

    await laptop.route('**/api/list', (route) => route.fulfill({ status: 503, body: '{"error":"x"}' }));
    const alert = laptop.waitForEvent('dialog');
    await laptop.getByRole('button', { name: 'Coffee' }).click({ noWaitAfter: true });
    expect((await alert).message()).toBe('That was not saved.');
    await (await alert).dismiss();
    await laptop.unroute('**/api/list');

    await phone.evaluate(`
      const { access_token } = JSON.parse(localStorage.getItem('latchkey:${service.url}'));
      fetch('${service.url}/sign-out', {
        method: 'POST',
        headers: { Authorization: 'Bearer ' + access_token, 'Content-Type': 'application/json' },
        body: '{"scope":"others"}',
      });
    `);
    await laptop.getByRole('dialog').getByText('You were signed out on this device').waitFor();
    expect(await laptop.getByRole('button', { name: 'Coffee' }).count()).toBe(0);
    await phone.getByRole('button', { name: 'Sign out' }).click();
    await phone.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
