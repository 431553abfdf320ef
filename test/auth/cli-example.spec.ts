import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { query } from '../support/database.js';
import { useService } from '../support/use.js';

/** `examples/cli` as a user runs it, with an HTTP client in the place of the browser (RFC 8252 §7.3). */
describe('the example for the command line', () => {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-cli-'));
  const file = join(home, 'my-cli', 'session.json');

  const { provider, service } = useService({
    PROVIDERS_MOCK_ENABLED: 'false',
    REDIRECT_URIS: 'http://127.0.0.1/callback', // of any port
  });
  beforeAll(() => provider.signInAtOnce());
  afterAll(() => rmSync(home, { recursive: true }));

  function run(command: string) {
    const env = { ...process.env, LATCHKEY_URL: service.url, XDG_CONFIG_HOME: home, NODE_OPTIONS: '' };
    const child = spawn(process.execPath, ['examples/cli/cli.js', command], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = Promise.all([text(child.stderr), once(child, 'close')]).then(([errors]) => ({
      code: child.exitCode,
      errors,
    }));
    return { child, ended };
  }

  /** Runs a command that needs no browser. */
  async function output(command: string) {
    const { child, ended } = run(command);
    return { printed: await text(child.stdout), ...(await ended) };
  }

  /** Follows redirects from the address that the program prints. @returns the address of its callback */
  async function callbackFor(address: string): Promise<string> {
    for (let hops = 0; !address.startsWith('http://127.0.0.1') || !address.includes('/callback?'); hops++) {
      if (hops > 5) throw new Error(`${address} leads nowhere`);
      const answer = await fetch(address, { redirect: 'manual' });
      await answer.body?.cancel();
      address = new URL(answer.headers.get('location')!, address).href;
    }
    return address;
  }

  async function signIn(visit: (callback: string) => Promise<void>) {
    const { child, ended } = run('sign-in');
    let printed = '';
    for await (const chunk of child.stdout) {
      const before = printed;
      printed += String(chunk);
      const address = /\S+\/oauth2\/authorize\S+(?=\n)/.exec(printed)?.[0];
      if (address && !before.includes(address)) await visit(await callbackFor(address));
    }
    return { printed, ...(await ended) };
  }

  const visit = async (callback: string): Promise<void> => {
    const page = await fetch(callback);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('close this page')]);
  };

  it('signs in, is signed in later, and signs out', async () => {
    expect(await output('whoami')).toEqual({ printed: '', code: 1, errors: 'signed out: run `sign-in`\n' });
    const { printed, code, errors } = await signIn(async (callback) => {
      const foreign = new URL(callback); // of a program that does not know the state, or an answer of another service
      for (const [name, value] of [
        ['state', 'x'],
        ['iss', 'https://evil.example'],
      ] as const) {
        const { searchParams } = new URL(callback);
        searchParams.set(name, value);
        foreign.search = searchParams.toString();
        expect((await fetch(foreign)).status).toBe(404);
      }
      await visit(callback);
    });
    expect([code, errors]).toEqual([0, '']);
    expect(printed).toMatch(/Signed in as Ada, [\da-f-]{36}\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { refresh_token } = JSON.parse(readFileSync(file, 'utf8')) as { refresh_token: string };
    expect(refresh_token).toMatch(/^lkr_/);
    expect(printed).not.toContain(refresh_token);
    expect((await output('whoami')).printed).toMatch(/^Signed in as Ada, /);

    expect((await output('sign-out')).printed).toBe('Signed out\n');
    const refused = await fetch(`${service.url}/oauth2/refresh`, {
      method: 'POST',
      body: new URLSearchParams({ refresh_token }),
    });
    expect(refused.status).toBe(401);
    expect((await output('whoami')).code).toBe(1);
    await signIn(visit);
    await signIn(visit); // replaces the session
    const live = 'SELECT FROM refresh_tokens WHERE expires_at > now()';
    expect(await query(service.databaseUrl, live)).toHaveLength(1);
    expect(await query(service.databaseUrl, 'SELECT FROM devices')).toHaveLength(1);
  });

  it('says so if the session was ended elsewhere, or if the user refuses', async () => {
    const stored = readFileSync(file, 'utf8');
    writeFileSync(file, stored.replace('lkr_', 'lkr_x'));
    expect(await output('whoami')).toMatchObject({ code: 1, errors: 'signed out: run `sign-in`\n' });
    const { code, errors } = await signIn(async (callback) => {
      const refusal = new URL(callback);
      refusal.searchParams.delete('code');
      refusal.searchParams.set('error', 'access_denied');
      refusal.searchParams.set('error_description', 'this account may not sign in here\u001b[2J');
      await fetch(refusal).then((page) => page.text());
    });
    expect([code, errors]).toEqual([1, 'The sign-in was refused: this account may not sign in here[2J\n']);
  });
});
