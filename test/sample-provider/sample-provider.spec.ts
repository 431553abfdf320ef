import { createHash, scryptSync } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { dump, query } from '../support/database.js';
import { startServiceProcess } from '../support/service-process.js';
import { startTestService, type TestService } from '../support/service.js';
import { use } from '../support/use.js';

const PAGE = '/providers/mock/oauth2/authorize';
const EXCHANGE = '/providers/mock/oauth2/token/exchange';
const CALLBACK = 'https://app.example/callback';
const STATE = '0f'.repeat(32);
const good = { client_id: 'latchkey', redirect_uri: CALLBACK, state: STATE };
const ada = { login: 'ada', password: 'analytical-engine' };

/** Hash of a password at the lowest cost. */
function cheapHash(password: string): string {
  const salt = Buffer.alloc(16);
  const hash = scryptSync(password, salt, 32, { N: 2, r: 1, p: 1 });
  return `scrypt$2$1$1$${salt.toString('base64url')}$${hash.toString('base64url')}`;
}
const ACCOUNTS = [
  {
    provider_user_id: 'a-1',
    login: 'ada',
    password_hash: cheapHash('analytical-engine'),
    username: 'Ada Lovelace',
    email: 'ada@example.com',
  },
  { provider_user_id: 'g-1', login: 'grace', password_hash: cheapHash('first-compiler') },
  {
    provider_user_id: 'z-1',
    login: 'zoë',
    password_hash: cheapHash('une clé'),
    avatar_url: 'https://img.example/7.png',
    roles: ['editor', 'latchkey-admin'],
  },
];

const directory = mkdtempSync(join(tmpdir(), 'latchkey-accounts-'));

const accountsFile = join(directory, 'accounts.json');
const uris = [CALLBACK, 'https://app.example/cb?keep=1', 'com.example.app:/callback'];
beforeAll(() => writeFileSync(accountsFile, JSON.stringify(ACCOUNTS)));
const service = use(() =>
  startTestService({ REDIRECT_URIS: uris.join(','), PROVIDERS_MOCK_ACCOUNTS: accountsFile }),
);
/** Second instance, with the demo accounts. */
const demo = use(() => startTestService({ DATABASE_URL: service.databaseUrl, REDIRECT_URIS: CALLBACK }));
afterAll(() => rmSync(directory, { recursive: true }));

function page(asked: Record<string, string> = good, url = service.url): request.Test {
  return request(url).get(PAGE).query(asked);
}

/** The body that the page's form would post. */
async function submit(
  fields: Record<string, string>,
  asked: Record<string, string> = good,
  url = service.url,
): Promise<request.Response> {
  const csrf_token = csrfTokenOf((await page(asked, url)).text);
  return request(url)
    .post(PAGE)
    .query(asked)
    .type('form')
    .send({ csrf_token, ...fields });
}

async function codeFor(fields: Record<string, string> = ada, url = service.url): Promise<string> {
  const { headers } = await submit(fields, good, url);
  return new URL(headers['location'] as string).searchParams.get('code')!;
}

function exchange(fields: Record<string, string>, url = service.url): request.Test {
  const { clientId, clientSecret } = service.app.get(ProviderRegistry).get('mock').settings;
  const form = { client_id: clientId, client_secret: clientSecret, redirect_uri: CALLBACK, ...fields };
  return request(url).post(EXCHANGE).type('form').set('Accept', 'application/json').send(form);
}

function csrfTokenOf(html: string): string {
  return /name="csrf_token" value="([^"]+)"/.exec(html)![1]!;
}

function expectPage(response: request.Response): void {
  expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(response.headers).not.toHaveProperty('location');
  expect(response.headers).not.toHaveProperty('x-frame-options');
  expect(response.headers['content-security-policy']).not.toMatch(/frame-ancestors|form-action|unsafe/);
}

describe('the authorization page (spec §4.5.1)', () => {
  it('is HTML that may be framed, may not be stored, and names where the user goes', async () => {
    const response = await page().expect(200);
    expectPage(response);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers['referrer-policy']).toBe('no-referrer');
    expect(response.text).toContain('<strong>app.example</strong>');
    const { text } = await page({ ...good, redirect_uri: 'com.example.app:/callback' }).expect(200);
    expect(text).toContain('<strong>com.example.app</strong>');
  });

  it('allows exactly its own style and scripts', async () => {
    const { text, headers } = await page();
    const hash = ([, content]: string[]): string =>
      `'sha256-${createHash('sha256').update(content!).digest('base64')}'`;
    const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)].map(hash).join(' ');
    const scripts = [...text.matchAll(/<script>([^]*?)<\/script>/g)].map(hash).join(' ');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src ${styles}; img-src data:; base-uri 'none'; script-src ${scripts}`,
    );
  });

  it('escapes what it was given', async () => {
    const state = `"><script>alert('&')</script>`;
    const { text } = await page({ ...good, state }).expect(200);
    expect(text).not.toContain('<script>alert');
    const wrong = await submit({ login: state, password: 'wrong' }, { ...good, state });
    expect(wrong.text).toContain('value="&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"');
    expect(wrong.text).not.toContain('<script>alert');
  });

  const { client_id, redirect_uri } = good;
  const asQuery = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();
  it.each([
    ['no parameters', ''],
    ['an unknown client_id', asQuery({ ...good, client_id: 'Latchkey' })],
    ['a redirect_uri that is not on the list', asQuery({ ...good, redirect_uri: `${CALLBACK}/` })],
    ['no state', asQuery({ client_id, redirect_uri })],
    ['a blank state', asQuery({ ...good, state: ' ' })],
    ['a state with NUL', `${asQuery({ client_id, redirect_uri })}&state=a%00b`],
    ['a state of 1025 characters', asQuery({ ...good, state: 'a'.repeat(1025) })],
    ['redirect_uri twice', `${asQuery(good)}&redirect_uri=https%3A%2F%2Fevil.example`],
  ])('answers 400 with a page to %s, and never redirects', async (_name, text) => {
    const csrf_token = csrfTokenOf((await page()).text);
    const shown = await request(service.url).get(`${PAGE}?${text}`).expect(400);
    const posted = await request(service.url)
      .post(`${PAGE}?${text}`)
      .type('form')
      .send({ csrf_token, ...ada })
      .expect(400);
    for (const response of [shown, posted]) {
      expectPage(response);
      expect(response.text).not.toContain('<form');
    }
  });
});

describe('the login form', () => {
  it('sends the user back with a code and the state (spec §4.5.1, 3)', async () => {
    const response = await submit(ada);
    expect(response.status).toBe(302);
    expect(response.headers['location']).toMatch(
      new RegExp(`^https://app\\.example/callback\\?code=[A-Za-z0-9_-]{43}&state=${STATE}$`),
    );
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers).not.toHaveProperty('content-security-policy');
    expect(response.headers).not.toHaveProperty('x-frame-options');
  });

  it('keeps a query of the redirect URI', async () => {
    const { headers } = await submit(ada, { ...good, redirect_uri: 'https://app.example/cb?keep=1' });
    expect(headers['location']).toMatch(/^https:\/\/app\.example\/cb\?keep=1&code=[^&]+&state=0f/);
  });

  it.each(['a b+c', 'a%20b', '&=?#/', 'grüße ✓', '"<>\'`', 'a\nb'])('echoes the state %j', async (state) => {
    const { headers } = await submit(ada, { ...good, state });
    expect(new URL(headers['location'] as string).searchParams.get('state')).toBe(state);
  });

  it.each([
    ['a wrong password', { login: 'ada', password: 'Analytical-engine' }],
    ['an unknown login', { login: 'nobody', password: 'analytical-engine' }],
  ])('shows itself again after %s, in the same words', async (_name, fields) => {
    const response = await submit(fields);
    expect(response.status).toBe(422);
    expectPage(response);
    expect(response.text).toContain('role="alert"');
    expect(response.text).toContain('The user name or the password is not right.');
    expect(response.text).toContain(`value="${fields.login}"`);
    expect(response.text).not.toContain(`value="${fields.password}"`);
  });

  it.each<Record<string, string>>([{ password: 'x' }, { login: 'ada' }])('asks again: %j', async (fields) => {
    const { status, text } = await submit(fields);
    expect([status, text]).toEqual([422, expect.stringContaining('Please enter your user name and your')]);
  });

  it.each([
    ['a password of 1025 characters', { ...ada, password: 'a'.repeat(1025) }],
    ['a password with NUL', { ...ada, password: 'a\0' }],
  ])('refuses %s before it hashes anything', async (_name, fields) => {
    const response = await submit(fields);
    expect(response.status).toBe(400);
    expectPage(response);
  });

  it.each([
    ['no token', async () => ''],
    ['a forged token', async () => `${Date.now()}.${'A'.repeat(43)}`],
    ['a token for another state', async () => csrfTokenOf((await page({ ...good, state: 'ab' })).text)],
  ])('takes no password with %s', async (_name, token) => {
    const codes = (): Promise<unknown[]> => query(service.databaseUrl, 'SELECT FROM sample_codes');
    const before = await codes();
    const response = await submit({ ...ada, csrf_token: await token() });
    expect(response.status).toBe(403);
    expectPage(response);
    expect(response.text).toContain('Please sign in again.');
    expect(await codes()).toHaveLength(before.length);
  });

  it('counts ten failures a minute for a login from one network, also of attempts at the same time', async () => {
    const grace = { login: 'grace', password: 'first-compiler' };
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => submit({ login: 'grace', password: 'wrong' })),
    );
    const answered = (wanted: number): unknown[] => answers.filter(({ status }) => status === wanted);
    expect(answered(422)).toHaveLength(10);
    expect(answered(429)).toHaveLength(5);

    const right = await submit(grace);
    expect(right.status).toBe(429);
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(right.headers['retry-after'])).toBeLessThanOrEqual(60);
    expectPage(right);
    expect((await submit(ada)).status).toBe(302);
  });
});

describe('the exchange (spec §4.5.2)', () => {
  it('gives the identity for a code, once', async () => {
    const code = await codeFor();
    const first = await exchange({ code }).expect(200);
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(first.headers['cache-control']).toBe('no-store');
    expect(first.body).toEqual({
      provider_user_id: 'a-1',
      username: 'Ada Lovelace',
      email: 'ada@example.com',
      auth_time: expect.any(Number),
    });
    await refused(code);
  });

  const refused = async (code: string, fields: Record<string, string> = {}): Promise<void> => {
    const { body } = await exchange({ code, ...fields }).expect(400);
    expect(body).toEqual({
      error: 'invalid_grant',
      error_description: 'the code is invalid, already used, or expired',
    });
  };

  it('redeems a code once, however many requests compete', async () => {
    const code = await codeFor();
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange({ code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(19);
  });

  it('redeems at any instance', async () => {
    const code = await codeFor();
    await query(service.databaseUrl, `UPDATE sample_codes SET provider_user_id = 'demo-ada'`);
    await exchange({ code }, demo.url).expect(200);
  });

  it('keeps only a hash of the code', async () => {
    const code = await codeFor();
    expect(await dump(service.databaseUrl, { refusals: true })).not.toContain(code);
    expect(service.log.join('')).not.toContain(code);
  });

  it('refuses a code after 60 seconds', async () => {
    const code = await codeFor();
    const [row] = await query<{ ttl: string }>(
      service.databaseUrl,
      `SELECT extract(epoch FROM max(expires_at) - now()) AS ttl FROM sample_codes`,
    );
    expect(Number(row!.ttl)).toBeGreaterThan(30);
    expect(Number(row!.ttl)).toBeLessThanOrEqual(60);
    await query(service.databaseUrl, 'UPDATE sample_codes SET expires_at = now()');
    await refused(code);
  });

  it('uses up a code that comes with another redirect URI', async () => {
    const code = await codeFor();
    await refused(code, { redirect_uri: 'https://app.example/cb?keep=1' });
    await refused(code);
  });

  describe('PKCE (RFC 7636)', () => {
    const [mine, theirs] = ['m', 't'].map((letter) => letter.repeat(43)) as [string, string];
    const challenged = {
      ...good,
      code_challenge: createHash('sha256').update(mine).digest('base64url'),
      code_challenge_method: 'S256',
    };

    it.each([
      ['the right verifier', challenged, { code_verifier: mine }, true],
      ['another verifier', challenged, { code_verifier: theirs }, false],
      ['no verifier', challenged, {}, false],
      ['an empty verifier', challenged, { code_verifier: '' }, false],
      ['a verifier without a challenge (RFC 9700 §4.8.2)', good, { code_verifier: mine }, false],
    ])('a code with %s: redeemed once, or not at all', async (_name, asked, fields, isGood) => {
      const { headers } = await submit(ada, asked);
      const code = new URL(headers['location'] as string).searchParams.get('code')!;
      if (isGood) await exchange({ code, ...fields }).expect(200);
      else await refused(code, fields);
      await refused(code, { code_verifier: mine });
    });

    it.each([
      ['plain', { ...challenged, code_challenge_method: 'plain' }],
      ['no method', { ...good, code_challenge: challenged.code_challenge }],
      ['no challenge', { ...good, code_challenge_method: 'S256' }],
    ])('the page refuses %s', async (_name, asked) => expectPage(await page(asked).expect(400)));
  });

  it('refuses a code that was made for another client', async () => {
    const code = await codeFor();
    await query(service.databaseUrl, `UPDATE sample_codes SET client_id = 'someone'`);
    await refused(code);
  });

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['another client', { client_id: 'someone' }],
  ])('answers %s with invalid_client 401, and uses up nothing', async (_name, fields) => {
    const code = await codeFor();
    expect((await exchange({ code, ...fields }).expect(401)).body).toEqual({
      error: 'invalid_client',
      error_description: 'the client credentials are wrong',
    });
    await exchange({ code }).expect(200);
  });

  it.each(['client_id', 'client_secret', 'code', 'redirect_uri'])('asks for %s', async (name) => {
    const longest = name === 'code' ? 16_384 : 2048;
    for (const value of ['', ' ', 'a\0b', 'a'.repeat(longest + 1)]) {
      const { body } = await exchange({ code: 'a', [name]: value }).expect(400);
      expect(body).toMatchObject({ error: 'invalid_request' });
    }
  });

  it('refuses a parameter that comes twice, before it looks at any', async () => {
    const { body } = await request(service.url)
      .post(EXCHANGE)
      .type('form')
      .send(`client_id=x&client_secret=x&code=a&code=b&redirect_uri=${encodeURIComponent(CALLBACK)}`)
      .expect(400);
    expect(body).toEqual({ error: 'invalid_request', error_description: 'code must be given once' });
  });

  it('answers an internal error with server_error, and on the page with a page', async () => {
    await query(service.databaseUrl, 'ALTER TABLE sample_codes RENAME TO away');
    try {
      expect((await exchange({ code: 'a' }).expect(500)).body).toMatchObject({ error: 'server_error' });
      const response = await submit(ada);
      expect(response.status).toBe(500);
      expectPage(response);
      expect(response.text).not.toContain('sample_codes');
    } finally {
      await query(service.databaseUrl, 'ALTER TABLE away RENAME TO sample_codes');
    }
  });
});

describe('its accounts', () => {
  it('are demo accounts without a file, with passwords on the page', async () => {
    const { text } = await page(good, demo.url);
    const shown = [...text.matchAll(/<code>([^<]+)<\/code>/g)].map(([, word]) => word!);
    expect(shown).toEqual(['ada', 'analytical-engine', 'grace', 'first-compiler', 'linus', 'just-for-fun']);
    const logins = [...text.matchAll(/name="demo" value="([^"]+)"/g)].map(([, login]) => login);
    expect(logins).toEqual(['ada', 'grace', 'linus']);
    expect((await submit(ada, good, demo.url)).status).toBe(302);
  });

  it('have a button each as demo accounts, which needs a CSRF token and no password', async () => {
    const fields = { demo: 'linus', login: 'half of a na', password: '' };
    const { body } = await exchange({ code: await codeFor(fields, demo.url) }, demo.url).expect(200);
    expect(body).toMatchObject({ provider_user_id: 'demo-linus' });
    expect((await submit({ demo: 'linus', csrf_token: '' }, good, demo.url)).status).toBe(403);
    expect((await submit({ demo: 'nobody' }, good, demo.url)).status).toBe(422);
  });

  it('have roles of the administration page as demo accounts: ada and grace', async () => {
    const claimsAs = async (login: string): Promise<unknown> =>
      (await exchange({ code: await codeFor({ demo: login }, demo.url) }, demo.url).expect(200)).body.claims;
    expect(await claimsAs('ada')).toEqual({ roles: ['latchkey-admin'] });
    expect(await claimsAs('grace')).toEqual({ roles: ['latchkey-support'] });
    expect(await claimsAs('linus')).toBeUndefined();
  });

  it('come from a file, which replaces the demo accounts', async () => {
    const { text } = await page();
    expect(text).not.toMatch(/analytical-engine|name="demo"/);
    expect((await submit({ demo: 'ada' })).status).toBe(422);
    const code = await codeFor({ login: 'zoë', password: 'une clé' });
    const { body } = await exchange({ code }).expect(200);
    expect(body).toEqual({
      provider_user_id: 'z-1',
      avatar_url: 'https://img.example/7.png',
      claims: { roles: ['editor', 'latchkey-admin'] },
      auth_time: expect.any(Number),
    });
    const removed = await codeFor();
    await query(service.databaseUrl, `UPDATE sample_codes SET provider_user_id = 'demo-linus'`);
    await exchange({ code: removed }).expect(400);
  });

  describe('in a sign-in', () => {
    /** A whole sign-in through the page of `mock`. */
    async function signIn(at: TestService, fields: Record<string, string>, asked = {}): Promise<Tokens> {
      const begun = await request(at.url)
        .get('/oauth2/authorize')
        .query({ provider: 'mock', redirect_uri: CALLBACK, ...asked })
        .expect(200);
      const { searchParams } = new URL((begun.body as { redirect_url: string }).redirect_url);
      const { headers } = await submit(fields, Object.fromEntries(searchParams), at.url);
      const { searchParams: back } = new URL(headers['location'] as string);
      const body = { code: back.get('code'), state: back.get('state') };
      const answer = await request(at.url).post('/oauth2/token').send(body);
      expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })]);
      return answer.body as Tokens;
    }
    const zoe = { login: 'zoë', password: 'une clé' };

    it('have a time of login: a step-up asks for the password, and is met', async () => {
      const before = Math.floor(Date.now() / 1000);
      const { access_token } = await signIn(service, zoe, { max_age: '0' });
      const { auth_time } = claimsOf(access_token) as { auth_time: number };
      expect(auth_time).toBeGreaterThanOrEqual(before - 1);
      expect(auth_time).toBeLessThanOrEqual(Date.now() / 1000 + 1);
    });

    it.each([
      [undefined, 'users'],
      ['mock', 'users'],
      ['other', null],
    ])('have the roles of the file; with ADMIN_PROVIDERS %s the right is %s', async (providers, right) => {
      const at = await startTestService({
        DATABASE_URL: service.databaseUrl,
        REDIRECT_URIS: CALLBACK,
        PROVIDERS_MOCK_ACCOUNTS: join(directory, 'accounts.json'),
        ...(providers !== undefined && { ADMIN_PROVIDERS: providers }),
      });
      try {
        const { access_token } = await signIn(at, zoe);
        expect(claimsOf(access_token)['roles']).toEqual(['editor', 'latchkey-admin']);
        const { body } = await bearer(at.url, access_token).get('/admin/session').expect(200);
        expect((body as { right: unknown }).right).toBe(right);
      } finally {
        await at.close();
      }
    });
  });

  it('are checked before anything is started', async () => {
    const account = { provider_user_id: '7', login: 'z', password_hash: 'plain-password' };
    const file = join(directory, 'wrong.json');
    writeFileSync(file, JSON.stringify([account]));
    const dataDir = mkdtempSync(join(directory, 'data-'));
    const env = { 'providers.mock.accounts': file, DATA_DIR: dataDir };
    const { message } = (await startServiceProcess(env).catch((error: unknown) => error)) as Error;
    expect(message).toContain('providers.mock.accounts: entry 1, password_hash');
    expect(message).toMatch(/code 1:[^]*invalid settings, nothing was started:/);
    expect(message).not.toMatch(/Retrying|PostgreSQL|"stack"|\n +at |plain-password/);
    expect(readdirSync(dataDir)).toEqual([]);
  });
});

it('does not exist when it is disabled', async () => {
  const env = { PROVIDERS_MOCK_ENABLED: 'false', DATABASE_URL: service.databaseUrl };
  const without = await startTestService(env);
  try {
    await page(good, without.url).expect(404);
    await request(without.url).post(EXCHANGE).expect(404);
  } finally {
    await without.close();
  }
});
