import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { freePort } from '../support/free-port.js';
import { PackageProject } from '../support/package-project.js';
import { startTestService, type TestService } from '../support/service.js';

const guide = readFileSync(new URL('../../docs/quick-start.md', import.meta.url), 'utf8');
const KEY = 'k'.repeat(32); // in the guide: from data/service-key

/** docs/quick-start.md, as it stands but for the ports. */
inChromium('the quick start', () => {
  let service: TestService;
  let project: PackageProject;
  let server: ChildProcess;
  let browser: Browser;
  let port: number;

  beforeAll(async () => {
    service = await startTestService({ SERVICE_KEYS: KEY });
    project = await PackageProject.install(['client', 'server'], 'module');
    await project.link('express');
    port = await freePort();
    mkdirSync(join(project.directory, 'public'));
    for (const [, page, script, text] of guide.matchAll(
      /```(?:html|js)\n(?:<!-- (\S+) -->|\/\/ (\S+))\n(.*?)```/gs,
    )) {
      const here = text!.replace('http://localhost:3000', service.url).replace('8080', String(port));
      writeFileSync(join(project.directory, (page ?? script)!), here);
    }
    const env = { PATH: process.env['PATH'], LATCHKEY_KEY: KEY };
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    server = spawn(process.execPath, ['server.js'], { cwd: project.directory, env, stdio: [...stdio] });
    await once(server.stdout!, 'data');
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.kill();
    if (server?.stdout) await textOf(server.stdout);
    await project?.remove();
    await service?.close();
  });

  it('signs in, calls its API, and is pushed to: by the API, and by the command', async () => {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => void faults.push(error.message));
    await page.goto(`http://localhost:${port}`);
    await page.getByText('Nobody is signed in.').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    const form = page.frameLocator('iframe');
    await form.locator('input[name=login]').fill('ada');
    await form.locator('input[name=password]').fill('analytical-engine');
    await form.locator('input[name=password]').press('Enter');
    await page.getByText('Signed in as Ada Lovelace').waitFor();
    await page.getByRole('button', { name: 'Greet all my devices' }).click();
    await page.getByText('Hello from your API').waitFor();

    const [, body = ''] = /-d '(.*?)'\n/.exec(guide)!;
    const pushed = await fetch(`${service.url}/push`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
      body, // with the id of Ada
    });
    expect(pushed.status).toBe(202);
    await page.getByText('Hello from the shell').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Nobody is signed in.').waitFor();
    expect(faults).toEqual([]);
  });
});
