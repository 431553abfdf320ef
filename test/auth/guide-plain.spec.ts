import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { bearer } from '../support/sign-in.js';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';

const root = new URL('../../', import.meta.url);
const guide = readFileSync(new URL('docs/guides/plain.md', root), 'utf8');
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript' };

/** A file that docs/test-your-application.md shows. */
function testFile(name: string): string {
  const page = readFileSync(new URL('docs/test-your-application.md', root), 'utf8');
  return new RegExp(`^\`\`\`js\\n(// ${name}.*?)^\`\`\`$`, 'ms').exec(page)![1]!;
}

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
    const { signIn } = (await import(
      `data:text/javascript,${encodeURIComponent(testFile('sign-in.js'))}`
    )) as {
      signIn: (page: Page, login: string, password: string) => Promise<void>;
    };
    await signIn(page, 'ada', 'analytical-engine');
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

  it('signs in without a browser, as docs/test-your-application.md shows', async () => {
    const script = ['--input-type=module', '-', 'ada', 'analytical-engine'];
    const env = { ...process.env, LATCHKEY_URL: service.url };
    const run = promisify(execFile)(process.execPath, script, { env }); // the service answers in this process
    run.child.stdin!.end(testFile('access-token.mjs'));
    const token = (await run).stdout.trim();
    const me = await bearer(service.url, token).get('/me');
    expect(me.body).toMatchObject({ username: 'Ada Lovelace' });
  });
});
