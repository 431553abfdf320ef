import { hash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import type { Tokens } from '../support/sign-in.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

type Part = Record<string, unknown>;

const PUBLIC_URL = 'http://localhost:3000';
const DIRECTORY_TOKEN = 'a-token-of-the-directory-with-enough-characters';
const REDIRECT_URI = 'https://app.example/cb';
const VERIFIER = 'v'.repeat(43);
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Of each pair; more by ROUNDS. */
const ROUNDS = Number(process.env['ROUNDS'] ?? 2);
/** Persons of a round. */
const AT_A_TIME = 2;
/** The end and the last step of the sign-in begin within this time, in any order. */
const JITTER_MS = 8;

interface Answer {
  readonly status: number;
  readonly body: Part;
  readonly location: string | null;
}

/**
 * Every end of all sessions of a person also ends what is about to become one, on two instances
 * (docs/development.md#ends-of-sessions). A sign-in that began before an end has no session after both.
 */
describe('a sign-in that is in progress', () => {
  const key = makeSigningKey('first');
  /** The token endpoint answers after this, by subject. */
  const held = new Map<string, { readonly reached: () => void; readonly released: Promise<void> }>();

  const provider = use(() => StubProvider.start());
  beforeAll(async () => {
    provider.answer = ({ path, body }, response) => {
      const code = new URLSearchParams(body).get('code') ?? '';
      const answer = async (): Promise<void> => {
        const hold = path === '/token' ? held.get(code) : undefined;
        hold?.reached();
        await hold?.released;
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(said(path, code)));
      };
      void answer();
    };
  });
  const here = use(() =>
    startTestService({
      PUBLIC_URL,
      REDIRECT_URIS: REDIRECT_URI,
      SERVICE_KEYS: SERVICE_KEY,
      DEVICE_GRANT: 'on',
      PROVIDERS_MOCK_ENABLED: 'false',
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: provider.url,
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the stub',
      PROVIDERS_CORP_NONCE: 'off',
      PROVIDERS_CORP_PKCE: 'off',
      PROVIDERS_CORP_CLAIMS: 'member=member',
      PROVIDERS_CORP_ALLOW: 'claim:member',
      PROVIDERS_CORP_SIGNALS: 'on',
      PROVIDERS_CORP_SCIM_TOKEN: DIRECTORY_TOKEN,
    }),
  );
  const there = use(() => here.another());
  const directory = new DirectoryClient(here, 'corp', DIRECTORY_TOKEN);

  /** Answers of the provider. A code is the subject; with `refused:` before it, `allow` does not cover it. */
  function said(path: string, code: string): Part {
    const { url } = provider;
    if (path === '/jwks') return { keys: [{ ...key.jwk, d: undefined }] };
    if (path.endsWith('/ssf-configuration')) {
      const delivery_methods_supported = ['urn:ietf:rfc:8935'];
      return { spec_version: '1_0', issuer: url, jwks_uri: `${url}/jwks`, delivery_methods_supported };
    }
    if (path.startsWith('/.well-known/')) {
      return {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
      };
    }
    const sub = code.replace(/^refused:/, '');
    const member = code === sub ? 'yes' : undefined;
    const email = { email: `${sub}@corp.example`, email_verified: true };
    const id_token = signed({ aud: 'latchkey', sub, sid: randomUUID(), member, ...email });
    return { access_token: 'theirs', token_type: 'Bearer', id_token };
  }
  function signed(claims: Part, typ = 'JWT'): string {
    const iat = Math.floor(Date.now() / 1000);
    const usual = { iss: provider.url, aud: PUBLIC_URL, iat, jti: randomUUID() };
    const header = { alg: 'ES256', kid: 'first', typ };
    const exp = typ.startsWith('secevent') ? undefined : iat + 60;
    return reissue('e30.e30.', key, { ...usual, exp, ...claims }, header);
  }

  async function call(on: TestService, method: string, path: string, body?: unknown, token?: string) {
    const isText = typeof body === 'string';
    const response = await fetch(on.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(body !== undefined && {
          'Content-Type': isText ? 'application/secevent+jwt' : 'application/json',
        }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const answer = isJson && text !== '' ? (JSON.parse(text) as Part) : {};
    return { status: response.status, body: answer, location: response.headers.get('location') };
  }
  async function stateOf(on: TestService, query = ''): Promise<string> {
    const { body, location } = await call(on, 'GET', `/oauth2/authorize?provider=corp${query}`);
    return (body['state'] as string | undefined) ?? new URL(location!).searchParams.get('state')!;
  }
  const exchange = async (on: TestService, code: string): Promise<Answer> =>
    call(on, 'POST', '/oauth2/token', { code, state: await stateOf(on) });
  async function signIn(on: TestService, sub: string): Promise<Tokens> {
    const { status, body } = await exchange(on, sub);
    expect(status).toBe(200);
    return body as unknown as Tokens;
  }

  /** Begin a sign-in of a person. @returns its last step */
  const begins: Record<string, (sub: string, tokens?: Tokens) => Promise<() => Promise<Answer>>> = {
    'at the provider': async (sub) => {
      let [reached, release] = [() => {}, () => {}];
      const asked = new Promise<void>((resolve) => (reached = resolve));
      held.set(sub, { reached, released: new Promise((resolve) => (release = resolve)) });
      const answer = exchange(there, sub);
      await asked;
      held.delete(sub);
      return () => {
        release();
        return answer;
      };
    },
    'with a code of an OAuth client': async (sub) => {
      const challenge = hash('sha256', VERIFIER, 'base64url');
      const client = `&response_type=code&client_id=app&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`;
      const pkce = `&code_challenge=${challenge}&code_challenge_method=S256`;
      const state = await stateOf(there, client + pkce);
      const back = await call(there, 'GET', `/providers/corp/callback?code=${sub}&state=${state}`);
      const code = new URL(back.location!).searchParams.get('code');
      const body = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI };
      return () => call(there, 'POST', '/oauth2/token', { ...body, code_verifier: VERIFIER });
    },
    'of a device that a session has approved': async (_sub, tokens) => {
      const begun = await call(there, 'POST', '/oauth2/device_authorization', { client_id: 'tv' });
      const { device_code, user_code } = begun.body;
      const path = `/me/device-requests/${user_code as string}`;
      const approved = await call(there, 'POST', path, { approve: true }, tokens!.access_token);
      expect(approved.status).toBe(204);
      const body = { grant_type: DEVICE_GRANT, device_code, client_id: 'tv' };
      return () => call(there, 'POST', '/oauth2/token', body);
    },
    'of a device that was approved on the page': async (sub) => {
      const begun = await call(there, 'POST', '/oauth2/device_authorization', { client_id: 'tv' });
      const { device_code, user_code } = begun.body;
      const form = (path: string, fields: Record<string, string>, cookie = '') =>
        fetch(there.url + path, {
          method: 'POST',
          body: new URLSearchParams(fields),
          headers: { Cookie: cookie },
        });
      const entered = await form('/device', { user_code: user_code as string });
      const cookie = entered.headers.get('set-cookie')!.split(';')[0]!;
      let address = entered.headers.get('refresh')!.slice('0; url='.length);
      while (address !== '/device/confirm') {
        const url = new URL(address, there.url);
        const isAtProvider = url.origin === provider.url;
        const state = url.searchParams.get('state')!;
        const target = isAtProvider
          ? `/providers/corp/callback?code=${sub}&state=${state}`
          : url.pathname + url.search;
        const answer = await fetch(there.url + target, { redirect: 'manual', headers: { Cookie: cookie } });
        address = answer.headers.get('location')!;
      }
      expect((await form('/device/confirm', { answer: 'yes' }, cookie)).status).toBe(200);
      const body = { grant_type: DEVICE_GRANT, device_code, client_id: 'tv' };
      return () => call(there, 'POST', '/oauth2/token', body);
    },
  };

  interface End {
    /** @returns what ends the sessions; it may prepare something before */
    readonly prepare: (
      sub: string,
      tokens?: Tokens,
    ) => Promise<() => Promise<Answer>> | (() => Promise<Answer>);
    /** Statuses of an end that was done; of a person without a user also the second ones. */
    readonly done: readonly number[];
    readonly doneOfNobody?: readonly number[];
    readonly needsSession?: true;
  }
  const users = (path: string, method: string, body?: object) => (sub: string) => () =>
    call(here, method, `/users/${deriveUserId('corp', sub)}${path}`, body, SERVICE_KEY);
  const subject = (sub: string) => ({ format: 'iss_sub', iss: provider.url, sub });
  const signal = (sub_id: object) => () => {
    const events = { 'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {} };
    return call(here, 'POST', '/providers/corp/signals', signed({ events, sub_id }, 'secevent+jwt'));
  };
  const ends: Record<string, End> = {
    'the person, everywhere': {
      prepare: (_sub, tokens) => () =>
        call(here, 'POST', '/sign-out', { scope: 'all' }, tokens!.access_token),
      done: [204],
      needsSession: true,
    },
    'the person, on all other devices': {
      prepare: (_sub, tokens) => () =>
        call(here, 'POST', '/sign-out', { scope: 'others' }, tokens!.access_token),
      done: [204],
      needsSession: true,
    },
    support: { prepare: users('/sign-out', 'POST', {}), done: [200], doneOfNobody: [200, 404] },
    suspension: { prepare: users('', 'PATCH', { suspended: true }), done: [200], needsSession: true },
    removal: { prepare: users('', 'DELETE'), done: [204], needsSession: true },
    'a refusal by `allow`': { prepare: (sub) => () => exchange(here, `refused:${sub}`), done: [403] },
    'the directory': {
      prepare: async (sub) => {
        const id = await directory.create('/Users', { userName: sub, externalId: sub, active: true });
        return async () => {
          const value = { active: false };
          const { status } = await directory.patch(`/Users/${id}`, { op: 'replace', value });
          return { status, body: {}, location: null };
        };
      },
      done: [200],
    },
    'a signal': { prepare: (sub) => signal(subject(sub)), done: [202] },
    'a signal by e-mail address': {
      prepare: (sub) => signal({ format: 'email', email: `${sub.toUpperCase()}@corp.example` }),
      done: [202],
    },
    'global token revocation': {
      prepare: (sub) => () => {
        const path = '/providers/corp/global-token-revocation';
        const token = signed({ aud: PUBLIC_URL + path }, 'global-token-revocation+jwt');
        return call(here, 'POST', path, { sub_id: subject(sub) }, token);
      },
      done: [204],
      doneOfNobody: [204, 404],
    },
    'a logout token': {
      prepare: (sub) => () => {
        const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
        const logout_token = signed({ aud: 'latchkey', sub, events }, 'logout+jwt');
        return call(here, 'POST', '/providers/corp/backchannel-logout', { logout_token });
      },
      done: [200],
    },
  };

  async function isAlive({ access_token, refresh_token }: Tokens): Promise<boolean> {
    const me = await call(here, 'GET', '/me', undefined, access_token);
    const refreshed = await call(here, 'POST', '/oauth2/refresh', { refresh_token });
    return me.status === 200 || refreshed.status === 200;
  }
  const soon = () => delay(Math.random() * JITTER_MS);

  const pairs = Object.keys(ends).flatMap((end) =>
    Object.keys(begins).flatMap((begin) => {
      const needsSession = ends[end]!.needsSession || begin.includes('session');
      const persons = needsSession ? ['a user'] : ['a user', 'a new person'];
      return persons.map((person) => [begin, person, end] as const);
    }),
  );
  it.each(pairs)(
    '%s, of %s, ends by %s',
    async (begin, person, by) => {
      const end = ends[by]!;
      const isUser = person === 'a user';
      const tryOnce = async (): Promise<object> => {
        const sub = randomUUID();
        const tokens = isUser ? await signIn(there, sub) : undefined;
        const endNow = await end.prepare(sub, tokens);
        const finish = await begins[begin]!(sub, tokens);
        const [ended, answer] = await Promise.all([soon().then(endNow), soon().then(finish)]);
        expect(isUser ? end.done : (end.doneOfNobody ?? end.done)).toContain(ended.status);
        const survives = answer.status === 200 && (await isAlive(answer.body as unknown as Tokens));
        return { answer: answer.status, survives };
      };
      for (let round = 0; round < ROUNDS; round += AT_A_TIME) {
        const results = await Promise.all(Array.from({ length: AT_A_TIME }, tryOnce));
        for (const result of results) expect(result).toMatchObject({ survives: false });
      }
    },
    60_000 + ROUNDS * 2000,
  );

  it.each(Object.keys(begins))('%s goes on if nothing ends', async (begin) => {
    const sub = randomUUID();
    const finish = await begins[begin]!(sub, await signIn(there, sub));
    const { status, body } = await finish();
    expect([status, await isAlive(body as unknown as Tokens)]).toEqual([200, true]);
  });

  it.each(Object.keys(ends))('a sign-in that begins after an end by %s is not refused for it', async (by) => {
    const sub = randomUUID();
    const endNow = await ends[by]!.prepare(sub, await signIn(there, sub));
    await endNow();
    const { status, body } = await exchange(there, sub);
    const staysOut = by === 'suspension' || by === 'the directory';
    expect([status, !staysOut && (await isAlive(body as unknown as Tokens))]).toEqual(
      staysOut ? [403, false] : [200, true],
    );
  });
});
