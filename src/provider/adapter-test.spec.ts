import { adapterChecks, type Play, type SeenRequest } from './adapter-test.js';
import { CODE, REDIRECT_URI, SECRET, STATE } from './adapter-test/secrets.js';
import type { AuthorizationUrl, ExchangeRequest, ProviderAdapter } from './provider-adapter.js';
import type { ProviderSettings } from '../config/settings/settings.js';

const LARGEST = 64 * 1024;
const SHAPE = 'authorizationUrl and exchange are functions; issuer and check may be left out';
const MEMORY = 'authorizationUrl returns a URL, or { url, memory } with a small JSON object';
const BACK = 'the browser comes back with state and code, and the secret is in no address';
const SETTINGS = 'check and issuer accept these settings';
const OWN = 'the callback of another server is refused before the code is sent';
const SAME = 'exchange returns the identity, the same each time';
const SENT = 'exchange sends the code as it is, and neither code nor secret in an address';
const REFUSED = 'exchange says invalid_grant when the provider refuses the code';
const HTML = 'exchange fails, or has no id, when the provider answers something that it should not';
const NOTHING = 'exchange fails, or has no id, when the provider answers nothing';
const NULL = 'exchange fails, or has no id, when the provider answers null';
const LARGE = 'exchange reads no more than 64 KiB';
const FAULT = 'exchange fails when the provider has an internal error';
const REDIRECT = 'exchange follows no redirect';
const SIGNAL = 'exchange ends when the signal says so';

const refusal = (error = 'invalid_grant'): Error => Object.assign(new Error('refused'), { error });

/** How the good adapter below asks its provider; one that is not good differs in one of these. */
const asks = {
  page: ({ url }: ProviderSettings, state: string, redirectUri: string): AuthorizationUrl =>
    new URL(`${url}/login?${new URLSearchParams({ state, redirectUri }).toString()}`),
  before: (_settings: ProviderSettings): string => '',
  path: (_code: string, _secret: string): string => '/codes',
  body: (code: string): string => code,
  init: ({ signal }: ExchangeRequest): RequestInit => ({ redirect: 'error', signal }),
  read: async (response: Response): Promise<string> => {
    let text = '';
    for await (const part of response.body!) {
      text += Buffer.from(part as Uint8Array).toString();
      if (text.length > LARGEST) throw new Error('too much');
    }
    return text;
  },
  judge: (status: number, text: string, _request: ExchangeRequest): unknown => {
    if (status === 403) throw refusal();
    if (status !== 200) throw new Error(`status ${status}`);
    return (JSON.parse(text) as { id?: unknown }).id;
  },
  more: {} as object,
};

function adapterOf(how: Partial<typeof asks> = {}, own: object = {}): ProviderAdapter {
  const { page, before, path, body, init, read, judge, more } = { ...asks, ...how };
  return {
    authorizationUrl: (settings, { state, redirectUri }) => page(settings, state, redirectUri),
    exchange: async (settings, request) => {
      if (before(settings)) await fetch(before(settings));
      const to = settings.url + path(request.code, settings.clientSecret);
      const response = await fetch(to, { method: 'POST', body: body(request.code), ...init(request) });
      const id = judge(response.status, await read(response), request) as string;
      return { provider_user_id: id, ...more };
    },
    ...own,
  };
}

const play: Play = {
  userId: 'u',
  accepted: ({ path }) => (path === '/codes' ? { body: { id: 'u' } } : { status: 404 }),
  refused: () => ({ status: 403, body: {} }),
};
const anyPath: Play = { ...play, accepted: () => ({ body: { id: 'u' } }) };

/** The rule of this name. */
async function hold(rule: string, adapter: ProviderAdapter, to: Play = play): Promise<void> {
  await adapterChecks(adapter, to)
    .find(({ name }) => name === rule)!
    .run();
}

const names = (adapter: ProviderAdapter): string[] => adapterChecks(adapter, play).map(({ name }) => name);
const ALL = [SHAPE, MEMORY, BACK, SETTINGS, SAME, SENT, REFUSED, HTML, NOTHING, NULL, LARGE, FAULT, REDIRECT];

/** What contract §6 requires of an adapter, as `latchkey/adapter-test` holds the adapters of others to it. */
describe('the contract test for adapters', () => {
  it('has these rules', () => expect(names(adapterOf())).toEqual([...ALL, SIGNAL]));

  it('has one more for an adapter that judges `iss` itself', () => {
    const rules = names(adapterOf({}, { issuer: 'own' }));
    expect(rules).toEqual([...ALL, SIGNAL].toSpliced(4, 0, OWN));
  });

  it.each([...ALL, SIGNAL])('lets a good adapter pass: %s', async (rule) => {
    await expect(hold(rule, adapterOf())).resolves.toBeUndefined();
  });

  it('may be run again, each rule alone', async () => {
    const { run } = adapterChecks(adapterOf(), play).find(({ name }) => name === SAME)!;
    await run();
    await run();
  });

  it.each([
    ['holds', adapterOf(), true],
    ['does not hold', adapterOf({ body: () => '' }), false],
  ])('leaves no provider behind when a rule %s', async (_name, adapter, holds) => {
    let url = '';
    const held = hold(SENT, adapter, { ...play, options: (at) => ({ at: (url = at) }) });
    expect(await held.then(Boolean, Boolean)).toBe(!holds); // an error, or undefined
    expect(url).toMatch(/^http:/);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  const twice = (name: string, page: URL): string => `${page.searchParams.get('redirectUri')}&${name}`;
  const back = (query: string): Partial<Play> => ({ callback: (page) => twice(query, page) });
  const GOOD = `code=${CODE}&state=${STATE}`;

  describe('passes', () => {
    it.each<[string, string, ProviderAdapter, Partial<Play>?]>([
      ['a check and an issuer', SHAPE, adapterOf({}, { check: () => undefined, issuer: () => 'x' })],
      ['an issuer of its own', SHAPE, adapterOf({}, { issuer: 'own' })],
      ['an issuer of its own', SETTINGS, adapterOf({}, { issuer: 'own' })],
      ['an issuer that is promised', SETTINGS, adapterOf({}, { issuer: () => Promise.resolve('x') })],
      ['an issuer that it does not know', SETTINGS, adapterOf({}, { issuer: () => undefined })],
      [
        'a URL and memory',
        MEMORY,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b), memory: { a: [] } }) }),
      ],
      [
        'memory of 4 KiB',
        MEMORY,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b), memory: sized(4096) }) }),
      ],
      ['a ticket for a code', BACK, adapterOf(), back(GOOD.replace('code', 'ticket'))],
      [
        'all fields of an identity',
        SAME,
        adapterOf({ more: { username: 'a', email: 'b', avatar_url: 'c' } }),
      ],
      ['more fields than these', SAME, adapterOf({ more: { age: 36 } })],
      ['a code in a form', SENT, adapterOf({ body: (code) => new URLSearchParams({ code }).toString() })],
      [
        'a code in an address, where it belongs',
        SENT,
        adapterOf({ path: (code) => `/?${code}`, body: () => '' }),
        { ...anyPath, codeInAddress: true },
      ],
      ['no id', HTML, adapterOf({ judge: () => undefined })],
      [
        'any other error',
        NULL,
        adapterOf({
          judge: () => {
            throw refusal('server_error');
          },
        }),
      ],
      [
        'any other error',
        FAULT,
        adapterOf({
          judge: () => {
            throw refusal('invalid_client');
          },
        }),
      ],
      [
        'a refusal of another issuer alone',
        OWN,
        adapterOf(
          {
            init: ({ iss, signal }) => {
              if (iss && iss !== 'https://id.example') throw refusal();
              return { signal };
            },
          },
          { issuer: 'own' },
        ),
      ],
      ['a request before the one with the code', SENT, adapterOf({ before: (at) => at.url! })],
      [
        'a refusal of its own',
        OWN,
        adapterOf({}, { issuer: 'own', exchange: () => Promise.reject(refusal()) }),
      ],
    ])('%s (%s)', async (_name, rule, adapter, more = {}) => {
      await expect(hold(rule, adapter, { ...play, ...more })).resolves.toBeUndefined();
    });
  });

  describe('finds', () => {
    const address = 'the code or the secret is in an address';
    const told = 'the user would be told to try another code';
    it.each<[string, string, ProviderAdapter, string | RegExp, Partial<Play>?]>([
      [
        'no authorizationUrl',
        SHAPE,
        adapterOf({}, { authorizationUrl: undefined }),
        'authorizationUrl is not a function',
      ],
      ['an exchange that is text', SHAPE, adapterOf({}, { exchange: 'x' }), 'exchange is not a function'],
      ['a check that is not a function', SHAPE, adapterOf({}, { check: true }), 'check is not a function'],
      ['a check that is null', SHAPE, adapterOf({}, { check: null }), 'check is not a function'],
      [
        'an issuer that is text',
        SHAPE,
        adapterOf({}, { issuer: 'https://x' }),
        'issuer is neither a function nor own',
      ],

      [
        'text for a URL',
        MEMORY,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b).href as never, memory: {} }) }),
        'it is not a URL',
      ],
      [
        'memory that JSON changes',
        MEMORY,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b), memory: { at: new Date() } }) }),
        'memory is changed by JSON',
      ],
      [
        'memory over 4 KiB',
        MEMORY,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b), memory: sized(4097) }) }),
        'memory is larger than 4 KiB',
      ],

      [
        'text for a URL',
        BACK,
        adapterOf({ page: (s, a, b) => ({ url: pageOf(s, a, b).href as never, memory: {} }) }),
        'it is not a URL',
      ],
      [
        'the secret in the page',
        BACK,
        adapterOf({ page: (s, a, b) => new URL(`${pageOf(s, a, b).href}&s=${s.clientSecret}`) }),
        'the secret is in the address',
      ],
      ['no state', BACK, adapterOf({ page: (s, _a, b) => pageOf(s, '', b) }), 'the state is missing'],
      [
        'no redirect URI',
        BACK,
        adapterOf({ page: (s, a) => pageOf(s, a, '') }),
        'the redirect URI is missing',
      ],
      [
        'no state on the way back',
        BACK,
        adapterOf(),
        'the state does not come back, once and unchanged',
        back(`code=${CODE}`),
      ],
      [
        'another state',
        BACK,
        adapterOf(),
        'the state does not come back, once and unchanged',
        back(`${GOOD}0`),
      ],
      [
        'the state twice',
        BACK,
        adapterOf(),
        'the state does not come back, once and unchanged',
        back(`${GOOD}&state=${STATE}`),
      ],
      [
        'the state in halves',
        BACK,
        adapterOf(),
        'the state does not come back, once and unchanged',
        back(`code=${CODE}&state=${STATE.slice(0, 32)}&state=${STATE.slice(32)}`),
      ],
      ['no code', BACK, adapterOf(), 'there is not one code', back(`state=${STATE}`)],
      ['the code twice', BACK, adapterOf(), 'there is not one code', back(`${GOOD}&code=${CODE}`)],
      ['a code and a ticket', BACK, adapterOf(), 'there is not one code', back(`${GOOD}&ticket=${CODE}`)],
      ['more in the address', BACK, adapterOf(), 'it is not the redirect URI', back(`${GOOD}&more=1`)],
      [
        'another address',
        BACK,
        adapterOf(),
        'it is not the redirect URI',
        { callback: () => `${new URL('/other', REDIRECT_URI).href}?from=test&${GOOD}` },
      ],

      [
        'settings that are refused',
        SETTINGS,
        adapterOf(
          {},
          {
            check: () => {
              throw new Error('no url');
            },
          },
        ),
        'no url',
      ],
      [
        'settings that are refused later',
        SETTINGS,
        adapterOf({}, { check: () => Promise.reject(new Error('no url')) }),
        'no url',
      ],
      [
        'an issuer that is refused',
        SETTINGS,
        adapterOf({}, { issuer: () => Promise.reject(new Error('no')) }),
        'no',
      ],
      [
        'an issuer that is a number',
        SETTINGS,
        adapterOf({}, { issuer: () => 7 }),
        'the issuer is not a string',
      ],
      [
        'an issuer that is null',
        SETTINGS,
        adapterOf({}, { issuer: () => null }),
        'the issuer is not a string',
      ],

      [
        'an issuer that nobody judges',
        OWN,
        adapterOf({}, { issuer: 'own' }),
        'it resolved with {"provider_user_id":"u"}',
      ],
      [
        'an issuer judged too late',
        OWN,
        adapterOf(
          {
            judge: () => {
              throw refusal();
            },
          },
          { issuer: 'own' },
        ),
        'something was sent',
      ],
      [
        'an issuer that is a fault',
        OWN,
        adapterOf({}, { issuer: 'own', exchange: () => Promise.reject(refusal('server_error')) }),
        /server_error/,
      ],

      ['another user', SAME, adapterOf({ judge: () => 'other' }), /other/],
      [
        'another user for the next code',
        SAME,
        adapterOf({ judge: (_s, _t, { code }) => (code === 'first' ? 'u' : 'v') }),
        /'v'/,
      ],
      ['an id that is no string', SAME, adapterOf({ judge: () => 7 }), /'number'/, { userId: 7 as never }],
      ['a name that is no string', SAME, adapterOf({ more: { username: 7 } }), 'username is not a string'],
      ['an address that is null', SAME, adapterOf({ more: { email: null } }), 'email is not a string'],
      [
        'a picture that is an object',
        SAME,
        adapterOf({ more: { avatar_url: {} } }),
        'avatar_url is not a string',
      ],

      ['no code that is sent', SENT, adapterOf({ body: () => 'x' }), 'no request has the code'],
      [
        'a code that is changed',
        SENT,
        adapterOf({ body: (code) => code.slice(1) }),
        'no request has the code',
      ],
      ['a code in an address', SENT, adapterOf({ path: (code) => `/?c=${code}` }), address, anyPath],
      [
        'the secret in an address',
        SENT,
        adapterOf({ path: (_c, secret) => `/?s=${encodeURIComponent(secret)}` }),
        address,
        anyPath,
      ],
      [
        'the secret in an address, where the code belongs',
        SENT,
        adapterOf({ path: (code, secret) => `/?s=${encodeURIComponent(secret)}&c=${code}` }),
        address,
        { ...anyPath, codeInAddress: true },
      ],
      [
        'the secret in the address of another request',
        SENT,
        adapterOf({ before: (at) => `${at.url}/?${encodeURIComponent(at.clientSecret)}` }),
        address,
      ],
      [
        'a code in a body, where it belongs into the address',
        SENT,
        adapterOf(),
        'no request has the code',
        { codeInAddress: true },
      ],

      ['a refusal that is not noticed', REFUSED, adapterOf({ judge: () => 'u' }), 'it resolved with'],
      [
        'a refusal without its code',
        REFUSED,
        adapterOf({
          judge: () => {
            throw new Error('no');
          },
        }),
        /invalid_grant/,
      ],
      [
        'a fault with a secret in its text',
        REFUSED,
        adapterOf({
          judge: () => {
            throw Object.assign(new Error(SECRET), { error: 'invalid_grant' });
          },
        }),
        'a message holds the client secret',
      ],

      ['an id from nowhere', HTML, adapterOf({ judge: () => 'u' }), /'u'/],
      [
        'an id from nowhere',
        NOTHING,
        adapterOf({ judge: (_s, text) => (text === '' ? 'u' : undefined) }),
        /'u'/,
      ],
      [
        'an id from nowhere',
        NULL,
        adapterOf({ judge: (_s, text) => (text === 'null' ? 'u' : undefined) }),
        /'u'/,
      ],
      [
        'HTML taken for a refusal',
        HTML,
        adapterOf({
          judge: (_s, text) => {
            throw refusal(text.startsWith('<') ? undefined : '');
          },
        }),
        told,
      ],
      [
        'nothing taken for a refusal',
        NOTHING,
        adapterOf({
          judge: (_s, text) => {
            throw refusal(text === '' ? undefined : '');
          },
        }),
        told,
      ],
      [
        'null taken for a refusal',
        NULL,
        adapterOf({
          judge: (_s, text) => {
            throw refusal(text === 'null' ? undefined : '');
          },
        }),
        told,
      ],

      [
        'an answer without end',
        LARGE,
        adapterOf({ read: (response) => response.text() }),
        'it resolved with {"provider_user_id":"u"}',
      ],
      ['a fault that is not noticed', FAULT, adapterOf({ judge: () => 'u' }), 'it resolved with'],
      [
        'a fault taken for a refusal',
        FAULT,
        adapterOf({
          judge: (status) => {
            throw refusal(status === 503 ? undefined : '');
          },
        }),
        told,
      ],
      [
        'a redirect taken for an answer',
        REDIRECT,
        adapterOf({
          init: ({ signal }) => ({ redirect: 'manual', signal }),
          judge: (status) => (status === 307 ? 'u' : undefined),
        }),
        'it resolved with',
      ],
      [
        'a redirect that is followed',
        REDIRECT,
        adapterOf({ init: ({ signal }) => ({ signal }) }),
        'it followed the redirect',
      ],
      ['a signal that is not heard', SIGNAL, adapterOf({ init: () => ({}) }), 'it went on'],
    ])('%s (%s)', async (_name, rule, adapter, message, more = {}) => {
      await expect(hold(rule, adapter, { ...play, ...more })).rejects.toThrow(message);
    });
  });

  it('asks for a code with each kind of answer just once a sign-in', async () => {
    const seen: SeenRequest[] = [];
    const accepted: Play['accepted'] = (request) => {
      seen.push(request);
      return play.accepted(request);
    };
    await hold(SAME, adapterOf(), { ...play, accepted });
    expect(seen.map(({ body }) => body)).toEqual(['first', 'second']);
  });
});

function pageOf(settings: ProviderSettings, state: string, redirectUri: string): URL {
  return asks.page(settings, state, redirectUri) as URL;
}

/** Memory whose JSON has so many characters. */
function sized(length: number): Record<string, unknown> {
  return { a: 'x'.repeat(length - '{"a":""}'.length) };
}
