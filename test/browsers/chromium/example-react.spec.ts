import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { freePort } from '../../support/free-port.js';
import { PackageProject } from '../../support/package-project.js';
import { startTestService, type TestService } from '../../support/service.js';
import { until } from '../../support/waiting.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A copy of `examples/react` that uses the packed packages. */
class ExampleProject {
  private constructor(readonly project: PackageProject) {}

  static async install(): Promise<ExampleProject> {
    const project = await PackageProject.install(['client', 'server'], 'module');
    await cp(join(ROOT, 'examples/react'), project.directory, {
      recursive: true,
      filter: (path) => !['node_modules', 'dist'].includes(basename(path)),
    });
    const used = ['express', 'react', 'react-dom', 'socket.io-client', 'typescript', '@types'];
    for (const name of used) await project.link(name);
    const own = 'node_modules/@vitejs';
    await mkdir(join(project.directory, own), { recursive: true });
    for (const name of ['node_modules/vite', `${own}/plugin-react`])
      await symlink(join(ROOT, 'examples/react', name), join(project.directory, name));
    return new ExampleProject(project);
  }

  /** Runs a command of Vite to its end. @returns its exit code and what it printed */
  async vite(command: 'build', env: Record<string, string>): Promise<{ code: number; output: string }> {
    const child = this.spawn('vite/bin/vite.js', [command], env);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, output };
  }

  /** Checks the types of all sources. @returns what there is to say: nothing where all is well */
  async types(): Promise<string> {
    const child = this.spawn('typescript/bin/tsc', [], {});
    let output = '';
    child.stdout.on('data', (text) => (output += String(text)));
    await once(child, 'close');
    return output;
  }

  /** Serves what was built, and the API. */
  async serve(env: Record<string, string>): Promise<{ url: string; close: () => Promise<void> }> {
    const port = await freePort();
    const args = ['preview', '--port', String(port), '--strictPort', '--host', '127.0.0.1'];
    const child = this.spawn('vite/bin/vite.js', args, env);
    child.stdout.resume();
    child.stderr.resume();
    const ended = once(child, 'close');
    const url = `http://127.0.0.1:${port}`;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`vite preview ended with ${child.exitCode}`);
      return fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return {
      url,
      async close() {
        child.kill();
        await ended;
      },
    };
  }

  remove(): Promise<void> {
    return this.project.remove();
  }

  private spawn(program: string, args: string[], env: Record<string, string>) {
    return spawn(process.execPath, [join(this.project.directory, 'node_modules', program), ...args], {
      cwd: this.project.directory,
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

inChromium('examples/react', () => {
  const key = 'k'.repeat(32);
  let service: TestService;
  let example: ExampleProject;
  let served: Awaited<ReturnType<ExampleProject['serve']>>;
  let browser: Browser;
  const complaints: string[] = [];

  beforeAll(async () => {
    service = await startTestService({ SERVICE_KEYS: key });
    example = await ExampleProject.install();
    const env = { VITE_LATCHKEY_URL: service.url, LATCHKEY_KEY: key };
    expect(await example.vite('build', env)).toEqual({ code: 0, output: expect.any(String) });
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
    await phone.getByRole('button', { name: 'Account of Ada Lovelace' }).click();
    await phone.getByRole('button', { name: 'Sign out', exact: true }).click();
    await phone.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('has a part for admins: with the role in all tabs, without it gone at once, and closed in the API', async () => {
    const page = await device();
    const other = await page.context().newPage();
    other.setDefaultTimeout(60_000);
    await other.goto(served.url);
    await other.getByText('Live on all your devices').waitFor();
    const stored = (): Promise<{ access_token: string; user_id: string }> =>
      page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${service.url}'))`);
    const { user_id: user } = await stored();
    const setRoles = async (roles: string[]): Promise<void> => {
      const answer = await fetch(`${service.url}/users/${user}/claims`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ claims: { roles } }),
      });
      expect(answer.status).toBe(200);
    };
    const remove = async (token: string): Promise<number> => {
      const headers = { Authorization: `Bearer ${token}` };
      return (await fetch(`${served.url}/api/lists`, { method: 'DELETE', headers })).status;
    };
    const buttons = [page, other].map((tab) => tab.getByRole('button', { name: 'Empty the lists' }));
    let refreshes = 0;
    page.context().on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/oauth2/refresh')) refreshes++;
    });
    for (const tab of [page, other]) await tab.evaluate('window.isSame = true');
    for (const button of buttons) expect(await button.count()).toBe(0);
    expect(await remove((await stored()).access_token)).toBe(403);

    await setRoles(['admin']);
    for (const button of buttons) await button.waitFor();
    await page.getByPlaceholder('What is missing?').fill('Tea');
    await page.getByRole('button', { name: 'Add' }).click();
    await other.getByRole('button', { name: 'Tea' }).waitFor();
    await buttons[0]!.click();
    await page.getByText('All lists are empty.').waitFor();
    await other.getByRole('button', { name: 'Tea' }).waitFor({ state: 'detached' });

    const { access_token: old } = await stored(); // has the role until it expires
    await setRoles([]);
    for (const button of buttons) await button.waitFor({ state: 'detached' });
    await until(async () => (await remove(old)) === 403);
    expect(await remove((await stored()).access_token)).toBe(403);
    for (const tab of [page, other]) expect(await tab.evaluate('window.isSame')).toBe(true); // not loaded again
    expect(refreshes).toBe(2); // one for each change, in one of the tabs
    expect(complaints).toEqual([]);
  });
});
