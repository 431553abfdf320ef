import { jest } from '@jest/globals';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bearerFetch } from './bearer-fetch.js';
import { LatchkeyError } from '../latchkey-error.js';
import type { SignIn } from '../sign-in/sign-in.js';
import { renew, replace } from '../sign-in/step-up.js';
import { openSession, put, tokenOf, tokensNow, type Answer } from '../testing/tab.js';
import type { Refresher } from '../tokens/refresher.js';
import type { TokenKeeper, Tokens } from '../tokens/tokens.js';

interface Heard {
  path: string | undefined;
  authorization: string | undefined;
  body: string;
}

let servers: Server[];
let urls: string[];
let heard: Heard[][];
let answer: (request: IncomingMessage) => { status: number; headers?: Record<string, string> };
let opened: ReturnType<typeof openSession> | undefined;

/** Two origins that record the requests they get. */
beforeEach(async () => {
  heard = [[], []];
  answer = () => ({ status: 200 });
  servers = heard.map((list) =>
    createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        list.push({ path: request.url, authorization: request.headers.authorization, body });
        const { status, headers } = answer(request);
        response.writeHead(status, headers).end();
      });
    }),
  );
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))),
  );
  urls = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(() => {
  opened?.refresher.stop();
  for (const server of servers) server.close().closeAllConnections();
});

function open(answers: Answer[] = [], changes = {}): ReturnType<typeof bearerFetch> {
  opened = openSession(changes, answers);
  return fetchOf(opened.keeper, opened.refresher);
}

/** @param start asks the user to sign in again */
function fetchOf(
  keeper: TokenKeeper,
  refresher: Refresher,
  start: SignIn['start'] = () => Promise.reject(new Error('the user was asked')),
  canAsk = true,
): ReturnType<typeof bearerFetch> {
  return bearerFetch([urls[0]!], urls[0]!, keeper, refresher, (refused, used) =>
    renew([keeper, refresher, start, canAsk], refused, used),
  );
}

it('adds the token for listed origins, however the address is given', async () => {
  const fetch = open();
  await fetch('/path');
  await fetch(new URL(`${urls[0]}/url`));
  await fetch(new Request(`${urls[0]}/request`, { method: 'POST', body: 'text' }));
  expect(heard[0]).toEqual([
    { path: '/path', authorization: 'Bearer first', body: '' },
    { path: '/url', authorization: 'Bearer first', body: '' },
    { path: '/request', authorization: 'Bearer first', body: 'text' },
  ]);
});

it('adds none for other origins, if there is one already, or if nobody is signed in', async () => {
  const fetch = open();
  const warn = jest.spyOn(console, 'warn').mockReturnValue();
  await fetch(`${urls[1]}/`);
  expect(warn.mock.calls).toEqual([[expect.stringContaining(`sent no token to ${urls[1]},`)]]);
  warn.mockRestore();
  await fetch('/', { headers: { Authorization: 'Basic own' } });
  opened!.keeper.end('user');
  await fetch('/');
  expect([...heard[1]!, ...heard[0]!].map(({ authorization }) => authorization)).toEqual([
    undefined,
    'Basic own',
    undefined,
  ]);
});

it('follows redirects as the caller says', async () => {
  answer = ({ url }) =>
    url === '/away' ? { status: 307, headers: { Location: '/there' } } : { status: 200 };
  const fetch = open();
  expect((await fetch('/away')).status).toBe(200); // to the API's own origin: with the token
  expect(heard[0]![1]).toMatchObject({ path: '/there', authorization: 'Bearer first' });
  expect((await fetch('/away', { redirect: 'manual' })).status).toBe(307);
  await expect(fetch('/away', { redirect: 'error' })).rejects.toThrow();
  expect(heard[0]).toHaveLength(4);
});

it('does not repeat a request for a 401 after a redirect: it says nothing about the token', async () => {
  answer = ({ url }) =>
    url === '/order' ? { status: 303, headers: { Location: `${urls[1]}/done` } } : { status: 401 };
  const withdrawn = { received_at: Date.now() - 100_000 };
  const fetch = open([{ access_token: 'second', expires_in: 3600 }], withdrawn);
  expect((await fetch('/order', { method: 'POST', body: 'one' })).status).toBe(401);
  expect(heard[0]).toHaveLength(1);
  expect(opened!.requests()).toBe(0);
});

it('sends nothing when the token has expired and no other can be had', async () => {
  const fetch = open([new LatchkeyError('network')], { received_at: 0 });
  await expect(fetch('/')).rejects.toMatchObject({ code: 'network' });
  expect(heard[0]).toEqual([]);
});

it('repeats a refused request once, body and all, with another token', async () => {
  answer = ({ headers }) => ({ status: headers.authorization === 'Bearer second' ? 200 : 401 });
  const withdrawn = { received_at: Date.now() - 100_000 };
  const fetch = open([{ access_token: 'second', expires_in: 3600 }], withdrawn);
  const response = await fetch('/', { method: 'POST', body: 'once more' });
  expect(response.status).toBe(200);
  expect(heard[0]).toMatchObject([
    { authorization: 'Bearer first', body: 'once more' },
    { authorization: 'Bearer second', body: 'once more' },
  ]);
  answer = () => ({ status: 401 });
  expect((await fetch('/')).status).toBe(401); // the token is new: another one would not help
  expect(opened!.requests()).toBe(1);
});

it('repeats it with the token that another request got, however young', async () => {
  const late: (() => void)[] = [];
  const ask = open([{ access_token: 'second', expires_in: 3600 }], { received_at: Date.now() - 100_000 });
  servers[0]!.removeAllListeners('request').on('request', ({ url, headers }, response) => {
    const refuse = (): void =>
      void response.writeHead(headers.authorization === 'Bearer second' ? 200 : 401).end();
    if (url === '/late' && late.length === 0) late.push(refuse);
    else refuse();
  });
  const slow = ask('/late');
  expect((await ask('/')).status).toBe(200);
  late[0]!();
  expect((await slow).status).toBe(200);
  expect(opened!.requests()).toBe(1);
});

it('repeats it with a token that is good: the tab may have been frozen since there was another one', async () => {
  open(
    [
      { access_token: 'second', expires_in: 3600 },
      { access_token: 'third', expires_in: 3600 },
    ],
    {
      received_at: Date.now() - 100_000,
    },
  );
  const { keeper, refresher } = opened!;
  const now = jest.spyOn(Date, 'now');
  const thawed = async (stale?: string): Promise<string> => {
    const token = await refresher.refresh(stale);
    const ahead = Date.now() + 3_600_000;
    now.mockImplementation(() => ahead);
    return token;
  };
  answer = ({ headers }) => ({ status: headers.authorization === 'Bearer third' ? 200 : 401 });
  const fetch = fetchOf(keeper, { ...refresher, refresh: thawed });
  expect((await fetch('/')).status).toBe(200);
  now.mockRestore();
});

// A tab that is frozen while it asks for a token gives that up when it is thawed, and another tab may have one by then.
it.each([
  ['with the one that another tab has got', 'second', 200, ['Bearer first', 'Bearer second']],
  ['not, if there is no other one', 'first', 401, ['Bearer first']],
])('after a failed refresh, repeats it %s', async (_which, token, status, sent) => {
  open([], { received_at: Date.now() - 100_000 });
  const { area, keeper, refresher } = opened!;
  const refresh = (): Promise<string> => {
    put(area, { ...keeper.get()!, access_token: token });
    keeper.reload();
    return Promise.reject(new LatchkeyError('network'));
  };
  answer = ({ headers }) => ({ status: headers.authorization === 'Bearer second' ? 200 : 401 });
  const fetch = fetchOf(keeper, { ...refresher, refresh });
  expect((await fetch('/')).status).toBe(status);
  expect(heard[0]!.map(({ authorization }) => authorization)).toEqual(sent);
});

it('does not repeat it for another user who has signed in', async () => {
  const fetch = open([], { received_at: Date.now() - 100_000 });
  answer = () => {
    put(opened!.area, tokensNow({ access_token: 'his', refresh_token: 'lkr_2', user_id: 'bob' }));
    return { status: 401 };
  };
  expect((await fetch('/order', { method: 'POST', body: 'hers' })).status).toBe(401);
  expect(heard[0]).toMatchObject([{ authorization: 'Bearer first' }]);
  expect(heard[0]).toHaveLength(1);
});

it('rejects with `signed_out` only, if a sign-out comes between any two steps', async () => {
  for (let steps = 0; steps < 12; steps++) {
    const outcome = open()('/').then(
      ({ status }) => status,
      (error: LatchkeyError) => error.code,
    );
    for (let step = 0; step < steps; step++) await Promise.resolve();
    opened!.keeper.end('user');
    expect([200, 'signed_out']).toContain(await outcome);
    opened!.refresher.stop();
  }
});

it('does not send it for another user, who has signed in while a token was on its way', async () => {
  let come = (_token: object): void => undefined;
  const fetch = open([new Promise((resolve) => (come = resolve))], { received_at: 0 });
  const ordered = fetch('/order', { method: 'POST' });
  put(opened!.area, tokensNow({ access_token: 'his', refresh_token: 'lkr_2', user_id: 'bob' }));
  come({ access_token: 'hers', expires_in: 3600 });
  await expect(ordered).rejects.toMatchObject({ code: 'signed_out' });
  expect(heard[0]).toEqual([]);
});

it("rejects with an error of its own; what was aborted by the caller, with the caller's own", async () => {
  const fetch = open();
  await expect(fetch('http://[')).rejects.toMatchObject({ name: 'LatchkeyError', code: 'invalid_request' });
  for (const server of servers) server.close().closeAllConnections();
  await expect(fetch('/')).rejects.toMatchObject({ name: 'LatchkeyError', code: 'network' });
  const reason = new Error('enough');
  await expect(fetch('/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

// Step-up (RFC 9470; docs/guides/step-up.md#in-the-page)
describe('an API that asks for a newer sign-in', () => {
  const challenge = (parameters: string): Record<string, string> => ({
    'WWW-Authenticate': `Bearer error="insufficient_user_authentication"${parameters}`,
  });
  const now = (): number => Math.floor(Date.now() / 1000);
  const token = (claims: object, id = 'new'): string => tokenOf({ iat: now(), ...claims }, id);

  /** What the user was asked, and how each dialog ends. */
  let requested: object[];
  let outcome: () => Promise<void>;
  let start: SignIn['start'];
  let fetch: ReturnType<typeof bearerFetch>;
  const signIn = (access_token: string, user_id = 'ada'): Promise<void> => {
    put(opened!.area, tokensNow({ access_token, refresh_token: 'lkr_2', user_id }));
    opened!.keeper.reload();
    return Promise.resolve();
  };

  beforeEach(() => {
    requested = [];
    outcome = () => signIn(token({ auth_time: now(), acr: 'gold' }));
    opened = openSession({ access_token: token({}, 'old'), provider: 'corp' });
    start = async (options, isRequested) => {
      requested.push({ ...options, isRequested });
      await new Promise((resolve) => setTimeout(resolve, 20));
      await outcome();
      return undefined;
    };
    fetch = fetchOf(opened.keeper, opened.refresher, start);
    answer = ({ url, headers }) => {
      if (headers.authorization?.endsWith('.new')) return { status: 200 };
      const parameters: Record<string, string> = {
        '/age': ', max_age="300"',
        '/class': ', acr_values="gold platinum"',
        '/both': ', max_age=0, acr_values="gold"',
        '/none': '',
        '/fraction': ', max_age="-5", acr_values=""',
      };
      return { status: 401, headers: challenge(parameters[url!] ?? '') };
    };
  });

  const usual = { provider: 'corp', user: 'ada', isRequested: true };
  it.each<[string, object]>([
    ['/age', { maxAge: 300 }],
    ['/class', { acrValues: 'gold platinum' }],
    ['/both', { maxAge: 0, acrValues: 'gold' }],
    ['/none', { maxAge: 0 }],
    ['/fraction', { maxAge: 0 }],
  ])('%s: the user signs in again, and the request is repeated, body and all', async (path, needed) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('once '));
        controller.enqueue(new TextEncoder().encode('more'));
        controller.close();
      },
    });
    const answered = await fetch(path, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(answered.status).toBe(200);
    expect(requested).toEqual([{ ...usual, ...needed }]);
    expect(heard[0]!.map((one) => one.body)).toEqual(['once more', 'once more']);
  });

  it('gets each request once more at most, and its own answer is returned then', async () => {
    answer = () => ({ status: 401, headers: challenge(', max_age="300"') });
    const answered = await fetch('/age');
    expect([answered.status, heard[0]!.length, requested.length]).toEqual([401, 2, 1]);
    expect(answered.headers.get('WWW-Authenticate')).toContain('max_age="300"');
  });

  it.each<[string, () => Promise<void>]>([
    ['closes the dialog', () => Promise.reject(new LatchkeyError('cancelled'))],
    ['signs in as another', () => Promise.reject(new LatchkeyError('other_user'))],
    ['has become another meanwhile', () => signIn(token({ auth_time: now() }), 'bob')],
  ])('gets nothing else if the user %s', async (_name, end) => {
    outcome = end;
    const answered = await fetch('/age', { method: 'POST', body: 'hers' });
    expect([answered.status, heard[0]!.length]).toEqual([401, 1]);
    expect(answered.bodyUsed).toBe(false);
  });

  it('costs one dialog for concurrent requests, also if it is closed', async () => {
    expect(
      await Promise.all(['/age', '/age', '/age'].map(async (path) => (await fetch(path)).status)),
    ).toEqual([200, 200, 200]);
    expect(requested).toHaveLength(1);
    await signIn(token({}, 'old'));
    outcome = () => Promise.reject(new LatchkeyError('cancelled'));
    expect(await Promise.all(['/age', '/age'].map(async (path) => (await fetch(path)).status))).toEqual([
      401, 401,
    ]);
    expect(requested).toHaveLength(2);
  });

  it('for something else waits for its turn, and needs no dialog if the new session does', async () => {
    const [one, other] = await Promise.all([fetch('/age'), fetch('/class')]);
    expect([one.status, other.status, requested.length]).toEqual([200, 200, 1]);
    await signIn(token({}, 'old'));
    outcome = () => signIn(token({ auth_time: now(), acr: 'silver' }));
    await Promise.all([fetch('/age'), fetch('/class')]);
    expect(requested).toHaveLength(3);
  });

  it('late, after another tab has replaced the session, costs none', async () => {
    const fresh = token({ auth_time: now() });
    servers[0]!.prependOnceListener('request', () => void signIn(fresh));
    expect((await fetch('/age')).status).toBe(200);
    expect(requested).toEqual([]);
    expect(heard[0]!.map(({ authorization }) => authorization)).toEqual([
      expect.any(String),
      `Bearer ${fresh}`,
    ]);
  });

  it('… but a token that was only refreshed does not do', async () => {
    servers[0]!.prependOnceListener('request', () => {
      put(opened!.area, {
        ...opened!.keeper.get()!,
        access_token: token({ auth_time: now() - 400 }, 'other'),
      });
      opened!.keeper.reload();
    });
    expect((await fetch('/age')).status).toBe(200);
    expect(requested).toHaveLength(1);
  });

  it('causes nothing from an origin that is not listed, after a redirect, or if the application asks itself', async () => {
    answer = ({ url }) =>
      url === '/away'
        ? { status: 307, headers: { Location: `${urls[1]}/` } }
        : { status: 401, headers: challenge(', max_age="0"') };
    const warn = jest.spyOn(console, 'warn').mockReturnValue();
    expect((await fetch(`${urls[1]}/`)).status).toBe(401);
    warn.mockRestore();
    expect((await fetch('/away')).status).toBe(401);
    expect((await fetch('/age', { headers: { Authorization: 'Bearer own' } })).status).toBe(401);
    const silent = fetchOf(opened!.keeper, opened!.refresher, start, false);
    expect((await silent('/age')).status).toBe(401);
    expect(requested).toEqual([]);
    expect(heard[1]!.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  });

  it('the new session takes over the profile; the old one ends, or the one of another user', async () => {
    jest.useFakeTimers();
    try {
      const sent: [string, object][] = [];
      const replaced = (tokens: Tokens): Partial<Tokens> =>
        replace(LatchkeyError, (...report) => void sent.push(report), 'ada', tokens, before);
      const before = tokensNow({ profile: { username: 'Ada' } });
      expect(replaced(tokensNow({ refresh_token: 'lkr_2' }))).toEqual({ profile: { username: 'Ada' } });
      expect(sent).toEqual([]); // other tabs have to see the new session first
      jest.advanceTimersByTime(500);
      expect(sent.splice(0)).toEqual([['/oauth2/revoke', { token: 'lkr_1', reason: 'replaced' }]]);
      expect(() => replaced(tokensNow({ refresh_token: 'lkr_3', user_id: 'bob' }))).toThrow(
        expect.objectContaining({ code: 'other_user' }),
      );
      jest.advanceTimersByTime(5000);
      expect(sent).toEqual([['/oauth2/revoke', { token: 'lkr_3', reason: 'user' }]]);
    } finally {
      jest.useRealTimers();
    }
  });
});
