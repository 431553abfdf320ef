import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';

const root = new URL('../../', import.meta.url);
const guide = readFileSync(new URL('docs/guides/plain.md', root), 'utf8');
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript' };

/** The guide's own files by name, and the built SDK (the build is the test command's) as any server of files has them. */
function fileOf(path: string, service: string): string | undefined {
  const name = path === '/' ? 'index.html' : path.slice(1);
  if (name.startsWith('latchkey-client/')) {
    return readFileSync(
      new URL(`packages/client/dist/${name.slice('latchkey-client/'.length)}`, root),
      'utf8',
    );
  }
  const blocks = [...guide.matchAll(/```(?:html|js)\n(?:<!-- (\S+) -->|\/\/ (\S+))\n(.*?)```/gs)];
  const [, , , text] = blocks.find(([, page, script]) => (page ?? script) === name) ?? [];
  return text?.replace('http://localhost:3000', service);
}

inChromium('the guide to plain HTML and JavaScript', () => {
  let service: TestService;
  let app: Server;
  let browser: Browser;

  beforeAll(async () => {
    service = await startTestService();
    app = createServer(({ url = '/' }, response) => {
      const { pathname } = new URL(url, 'http://localhost');
      const text = fileOf(pathname, service.url);
      response.writeHead(text === undefined ? 404 : 200, {
        'Content-Type': TYPES[pathname.split('.').at(-1)!] ?? 'text/html',
      });
      response.end(text);
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    app?.closeAllConnections();
    app?.close();
    await service?.close();
  });

  it('signs a user in, shows their device in each tab, and signs them out in both', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => void faults.push(error.message));
    const url = `http://localhost:${(app.address() as AddressInfo).port}/`;
    await page.goto(url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const provider = page.frameLocator('iframe');
    await provider.locator('input[name=login]').fill('ada');
    await provider.locator('input[name=password]').fill('analytical-engine');
    await provider.locator('input[name=password]').press('Enter');
    await page.getByText('Signed in as Ada Lovelace').waitFor();
    await page.getByText('(this one)').waitFor();

    const second = await context.newPage();
    await second.goto(url);
    await second.getByText('Signed in as Ada Lovelace').waitFor();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await Promise.all([page, second].map((tab) => tab.getByText('Nobody is signed in.').waitFor()));
    expect(faults).toEqual([]);
    await context.close();
  });
});
