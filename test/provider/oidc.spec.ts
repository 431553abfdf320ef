import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import request from 'supertest';
import { OidcIssuer, Person, TamperingProxy, type Tamper } from '../support/oidc-issuer.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { dump, query } from '../support/database.js';
import { until } from '../support/waiting.js';
import { startTestService } from '../support/service.js';
import { authorization } from '../support/sign-in.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

/** What the log says about an error. */
interface Logged {
  err?: { cause?: { message: string } };
  error?: string;
}

const SECRET = 'a client secret of the issuer';
const REDIRECT_URI = 'https://app.example/cb?a=1';
// Every character that some server has decoded differently; RFC 6749 §A.1 allows visible ASCII and the blank.
const ODD_CLIENT = { id: "lk-._:%+ ~!*'()&=", secret: "-._:%+ ~!*'()&= %41 of an odd secret" };

/**
 * Whole sign-ins with a real OpenID provider, behind a proxy that can tamper with what it says
 * (docs/providers.md#openid-connect).
 */
describe('the adapter oidc', () => {
  const proxy = use(() => TamperingProxy.start());
  const issuer = use(() => OidcIssuer.start(proxy.url));
  const stub = use(() => StubProvider.start());
  beforeAll(() => {
    proxy.target = 1; // the service starts without the issuer
  });
  const service = use(() => startTestService(env()));
  const codes: string[] = [];
  afterEach(() => {
    for (const { path, body } of proxy.requests) {
      if (path !== '/token') continue;
      const form = new URLSearchParams(body);
      codes.push(...[form.get('code'), form.get('code_verifier')].filter((secret) => secret !== null));
    }
  });
  beforeEach(() => {
    issuer.restart({ claimsInIdToken: true, client: {} });
    proxy.reset();
  });

  /** The same server under several names, with other settings: what is read from it is read for each name. */
  function env(): Record<string, string> {
    const corp = { adapter: 'oidc', url: proxy.url, client_secret: SECRET };
    const odd = { ...corp, client_id: ODD_CLIENT.id, client_secret: ODD_CLIENT.secret };
    const username = { claim_username: '{preferred_username} {nothing}' };
    const providers = {
      corp,
      null: { ...corp, ...username },
      nothing: { ...corp, ...username },
      wrong: { ...corp, client_secret: 'not the secret of the issuer' },
      employees: {
        ...corp,
        scope: 'openid',
        claim_user_id: 'https://idp.example/employee.number',
        claim_avatar_url: 'https://img.example/{sub}.png',
      },
      later: corp,
      form: odd,
      header: { ...odd, token_endpoint_auth_method: 'client_secret_basic' },
    };
    return { ...providersEnv(providers), ...stub.env(), REDIRECT_URIS: REDIRECT_URI };
  }

  const begin = (provider = 'corp') => authorization(service.url, { provider });

  /** Signs in at the provider; returns what the client posts then. */
  async function callback(login: string, provider?: string): Promise<Record<string, string>> {
    const url = await new Person(login).authorize((await begin(provider)).redirect_url);
    return Object.fromEntries(url.searchParams);
  }

  const token = (body: object): request.Test => request(service.url).post('/oauth2/token').send(body);

  const signIn = async (login: string, provider?: string): Promise<request.Response> =>
    token(await callback(login, provider));

  async function userOf(login: string, provider = 'corp'): Promise<unknown> {
    const rows = await query(
      service.databaseUrl,
      'SELECT provider, username, email, avatar_url FROM users WHERE provider_user_id = $1 AND provider = $2',
      [login, provider],
    );
    return rows[0];
  }

  // First, since the issuer is reached from here on.
  it('that is unreachable harms neither the start nor other providers, and is used once it is back', async () => {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'later' })
      .expect(500);
    expect(body).toEqual({
      error: 'server_error',
      error_description: 'the identity provider cannot be used right now',
    });
    await begin('stub');
    proxy.target = issuer.port;
    expect((await signIn('hugo', 'later')).status).toBe(200);
  });

  /** Changes the ID token in the answer of the token endpoint. */
  const inIdToken =
    (claims: object, header: object = {}, key = issuer.key): Tamper =>
    (path, body) =>
      path === '/token'
        ? { ...body, id_token: reissue(body['id_token'] as string, key, { ...claims }, { ...header }) }
        : undefined;

  it('signs in, with a code challenge, a nonce and the state of the service', async () => {
    const { redirect_url, state } = await begin();
    const asked = new URL(redirect_url).searchParams;
    expect(Object.fromEntries(asked)).toEqual({
      client_id: 'latchkey',
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid profile email',
      state,
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const answer = await new Person('ada').authorize(redirect_url);
    expect(answer.href.startsWith(`${REDIRECT_URI}&`)).toBe(true);
    await token({ code: answer.searchParams.get('code'), state }).expect(200);
    expect(await userOf('ada')).toEqual({
      provider: 'corp',
      username: 'ada',
      email: 'ada@idp.example',
      avatar_url: 'https://img.idp.example/ada',
    });
    expect(proxy.count('/me')).toBe(0);
    const sent = new URLSearchParams(proxy.requests.find(({ path }) => path === '/token')?.body);
    expect(createHash('sha256').update(sent.get('code_verifier')!).digest('base64url')).toBe(
      asked.get('code_challenge'),
    );
    expect(sent.get('redirect_uri')).toBe(REDIRECT_URI);
  });

  it('asks the userinfo endpoint for what the ID token lacks', async () => {
    issuer.restart({ claimsInIdToken: false });
    const ports: (number | undefined)[] = [];
    proxy.intercept = (path, { req }) => {
      if (/^\/(token|jwks|me)$/.test(path)) ports.push(req.socket.remotePort);
      return false;
    };
    expect((await signIn('carol')).status).toBe(200);
    expect(proxy.count('/me')).toBe(1);
    expect([ports.length, new Set(ports).size]).toEqual([3, 1]); // each connection would cost a handshake
    expect(await userOf('carol')).toMatchObject({ username: 'carol', email: 'carol@idp.example' });
  });

  describe('drops an e-mail address that the provider calls unverified', () => {
    it.each([
      [false, null],
      [true, 'nora@idp.example'],
    ])('in the ID token: %j, and asks no further', async (said, email) => {
      proxy.tamper = inIdToken({ email_verified: said });
      expect((await signIn('nora')).status).toBe(200);
      expect(await userOf('nora')).toMatchObject({ username: 'nora', email });
      expect(proxy.count('/me')).toBe(0);
    });
  });

  it('uses the provider’s current keys: a new one at once, a withdrawn one no longer', async () => {
    const old = issuer.key;
    expect((await signIn('frank')).status).toBe(200);
    const posted = await callback('frank');
    issuer.restart({ key: makeSigningKey('second') });
    expect((await token(posted)).status).toBe(200);
    proxy.tamper = inIdToken({}, { kid: 'first' }, old);
    expect((await signIn('frank')).body).toMatchObject({ error: 'server_error' });
  });

  describe('refuses, and writes nothing', () => {
    async function refused(posted: object, status: number, error: string): Promise<void> {
      const rows = async (): Promise<string> =>
        (await dump(service.databaseUrl)).replaceAll(/^authorization_states .*\n?/gm, '');
      const before = await rows();
      const response = await token(posted);
      expect([response.status, response.body]).toEqual([
        status,
        { error, error_description: expect.any(String) },
      ]);
      expect(await rows()).toBe(before);
    }

    // Issuer, audience and expiry: src/provider/adapters/oidc.adapter.spec.ts.
    it.each<[string, () => Tamper, string]>([
      [
        'an ID token for others as well',
        () => inIdToken({ aud: ['latchkey', 'other'], azp: 'other' }),
        '"azp"',
      ],
      [
        'an ID token without expiry',
        () => inIdToken({ exp: undefined }),
        '"exp" (expiration time) claim missing',
      ],
      ['an ID token without subject', () => inIdToken({ sub: undefined }), '"sub" (subject) claim missing'],
      ['an ID token without nonce', () => inIdToken({ nonce: undefined }), 'has no nonce'],
      [
        'an ID token with another nonce',
        () => inIdToken({ nonce: 'x'.repeat(43) }),
        'the nonce is of another sign-in',
      ],
      ['an at_hash of another access token', () => inIdToken({ at_hash: 'x'.repeat(22) }), 'the at_hash'],
      ['an empty at_hash', () => inIdToken({ at_hash: '' }), 'the at_hash'],
      [
        'a signature of another key',
        () => inIdToken({}, {}, makeSigningKey('first')),
        'signature verification failed',
      ],
      [
        'a key that the provider does not have',
        () => inIdToken({}, { kid: 'x' }, makeSigningKey('x')),
        'no applicable key found',
      ],
      [
        'alg none',
        () => idToken((jwt) => reissue(jwt, issuer.key, {}, { alg: 'none' }).replace(/[^.]*$/, '')),
        'it signs ID tokens in a way',
      ],
      ['alg HS256', () => inIdToken({}, { alg: 'HS256' }), 'it signs ID tokens in a way'],
      ['an ID token that is not a JWT', () => idToken(() => 'x.y.z'), 'failed to parse JWT'],
      ['no ID token', () => idToken(() => undefined), 'no ID token'],
      ['no keys', () => (path) => (path === '/jwks' ? { keys: [] } : undefined), 'no applicable key found'],
      ['a user id that is too long', () => inIdToken({ sub: 'x'.repeat(256) }), 'no usable provider_user_id'],
    ])('%s', async (name, tamper, reason) => {
      const posted = await callback('mallory');
      proxy.tamper = tamper();
      const seen = service.log.length;
      // A wrong nonce is not the provider's fault: the code belongs to another sign-in.
      if (name.includes('another nonce')) await refused(posted, 401, 'invalid_grant');
      else await refused(posted, 500, 'server_error');
      // Of equal lines in a second only their number is logged.
      const isLine = (line: string): boolean => {
        const { err, error = '' } = JSON.parse(line) as Logged;
        return `${err?.cause?.message} ${error}`.includes(reason);
      };
      await until(() => service.log.slice(seen).some(isLine), reason);
    });

    const idToken =
      (change: (jwt: string) => string | undefined): Tamper =>
      (path, body) =>
        path === '/token' ? { ...body, id_token: change(body['id_token'] as string) } : undefined;

    it('userinfo of somebody else', async () => {
      issuer.restart({ claimsInIdToken: false });
      const posted = await callback('mallory');
      proxy.tamper = (path, body) => (path === '/me' ? { ...body, sub: 'ada' } : undefined);
      await refused(posted, 500, 'server_error');
      expect(proxy.count('/me')).toBe(1);
    });

    it('a code of one sign-in with the state of another, as the provider does', async () => {
      const [mine, theirs] = [await begin(), await callback('victim')];
      await refused({ code: theirs['code'], state: mine.state }, 401, 'invalid_grant');
    });

    it('… and if the provider does not look at the code challenge, by the nonce', async () => {
      const [mine, theirs] = [await callback('mallory'), await callback('victim')];
      const swapped = { code: mine['code'], state: mine['state'] };
      // The provider takes the code, and answers with the ID token of the other sign-in.
      const victim = await tokensOf(theirs);
      proxy.tamper = (path, body) => (path === '/token' ? { ...body, id_token: victim } : undefined);
      await refused(swapped, 401, 'invalid_grant');
    });

    /** The ID token that a sign-in got. */
    async function tokensOf(posted: object): Promise<string> {
      let idTokenSeen = '';
      proxy.tamper = (path, body) => {
        if (path === '/token') idTokenSeen = body['id_token'] as string;
        return undefined;
      };
      await token(posted).expect(200);
      return idTokenSeen;
    }

    it('a code that was used, or never issued', async () => {
      const posted = await callback('gina');
      await token(posted).expect(200);
      const { state } = await begin();
      await refused({ code: posted['code'], state }, 401, 'invalid_grant');
      await refused({ code: 'no such code', state: (await begin()).state }, 401, 'invalid_grant');
    });

    it('the callback of another server (RFC 9207), without asking the provider', async () => {
      const posted = await callback('mallory');
      proxy.reset();
      await refused({ ...posted, iss: 'https://evil.example' }, 401, 'invalid_grant');
      expect(proxy.count('/token')).toBe(0);
      await token(await callback('gina')).expect(200); // with the right iss
    });
  });

  describe('is held to the limits of every adapter', () => {
    /** Lets the provider answer one path in another way. */
    const at = (wanted: string, answer: (response: ServerResponse) => void) => {
      proxy.intercept = (path, response) => {
        if (path !== wanted) return false;
        answer(response);
        return true;
      };
    };

    it.each(['/token', '/jwks', '/me'])('no redirect is followed from %s', async (path) => {
      const elsewhere = await StubProvider.start();
      try {
        issuer.restart({ claimsInIdToken: false });
        const posted = await callback('ida');
        at(path, (response) => response.writeHead(307, { Location: elsewhere.url }).end());
        expect((await token(posted).expect(500)).body).toMatchObject({ error: 'server_error' });
        expect([proxy.count(path), elsewhere.requests.length]).toEqual([1, 0]);
      } finally {
        await elsewhere.close();
      }
    });

    it('an answer that is not JSON is not quoted in the log', async () => {
      const posted = await callback('ida');
      const headers = { 'Content-Type': 'application/json' };
      at('/token', (response) => response.writeHead(200, headers).end('access_token=a-secret-token'));
      expect((await token(posted).expect(500)).body).toMatchObject({ error: 'server_error' });
      expect(service.log.filter((line) => line.includes('access_tok'))).toEqual([]);
    });
    it('errors of the userinfo endpoint are not blamed on the client', async () => {
      issuer.restart({ claimsInIdToken: false });
      const posted = await callback('ida');
      at('/me', (response) => response.writeHead(400).end('{"error":"invalid_request"}'));
      expect((await token(posted).expect(500)).body).toMatchObject({ error: 'server_error' });
    });
  });

  // What is not used never fails a sign-in; openid-client alone would refuse most of these.
  describe('does not care for the type of members that are not used', () => {
    it.each<[string, unknown]>([
      ['null', null],
      ['nothing', undefined],
    ])('%s', async (name, odd) => {
      issuer.restart({ claimsInIdToken: false });
      proxy.tamper = (path, body) => {
        switch (path) {
          case '/token':
            return { ...body, token_type: odd, expires_in: odd, scope: odd, refresh_token: odd, more: odd };
          case '/me':
            return { ...body, name: odd, updated_at: odd, address: odd, email_verified: true };
          case '/jwks': {
            const [key] = body['keys'] as object[];
            const keys = [
              odd,
              { kty: odd },
              { ...key, kid: 'first', use: 7 },
              { ...key, x5c: odd, x5t: odd, use: undefined },
            ];
            return { ...body, more: odd, keys };
          }
          case '/.well-known/openid-configuration':
            return {
              ...body,
              scopes_supported: odd,
              claims_supported: odd,
              mtls_endpoint_aliases: odd,
              require_pushed_authorization_requests: odd,
              response_modes_supported: odd,
              registration_endpoint: odd,
            };
          default:
            return undefined;
        }
      };
      expect((await signIn('josé', name)).status).toBe(200);
      expect(await userOf('josé', name)).toMatchObject({ username: 'josé', email: 'josé@idp.example' });
    });

    it.each([null, '', 7, undefined])(
      'an access token that is %j, if the ID token says who it is',
      async (odd) => {
        const posted = await callback('ida');
        proxy.tamper = (path, body) =>
          path === '/token' ? { id_token: body['id_token'], access_token: odd } : undefined;
        await token(posted).expect(200);
        expect(proxy.requests.some(({ path }) => path === '/me')).toBe(false);
      },
    );
  });

  it('says in the log which settings a wrong client secret is in, with the words of the provider', async () => {
    const seen = service.log.length;
    const { status, body } = await signIn('ida', 'wrong');
    expect([status, body]).toMatchObject([400, { error: 'invalid_client' }]);
    const warnings = service.log
      .slice(seen)
      .filter((line) => line.includes('"warn"') && line.includes('provider wrong'));
    expect(warnings).toEqual([
      expect.stringMatching(
        /invalid_client \(client authentication failed\), HTTP 401 from .*\/token; look at .*providers\.wrong\.client_secret/,
      ),
    ]);
  });

  it('takes claims and scopes from where the settings say', async () => {
    expect(new URL((await begin('employees')).redirect_url).searchParams.get('scope')).toBe('openid');
    proxy.tamper = inIdToken({
      'https://idp.example/employee': undefined,
      'https://idp.example/employee.number': 4711,
    });
    expect((await signIn('dave', 'employees')).status).toBe(200);
    expect(await userOf('4711', 'employees')).toMatchObject({ avatar_url: 'https://img.example/dave.png' });
  });

  describe('sends the client secret', () => {
    const ENCODED =
      'lk-._%3A%25%2B+%7E%21*%27%28%29%26%3D:-._%3A%25%2B+%7E%21*%27%28%29%26%3D+%2541+of+an+odd+secret';
    const POST = 'client_secret_post';
    const BASIC = 'client_secret_basic';

    it.each<[string, typeof POST | typeof BASIC, string, unknown[]]>([
      ['form', POST, 'the provider takes both', [undefined, ODD_CLIENT.id, ODD_CLIENT.secret]],
      ['header', BASIC, 'the settings say so', [ENCODED, null, null]],
    ])('in the %s (%s) where %s', async (name, method, _why, expected) => {
      issuer.restart({
        client: {
          client_id: ODD_CLIENT.id,
          client_secret: ODD_CLIENT.secret,
          token_endpoint_auth_method: method,
        },
      });
      proxy.tamper = (path, body) =>
        path.startsWith('/.well-known')
          ? { ...body, token_endpoint_auth_methods_supported: [BASIC, POST] }
          : undefined;
      expect((await signIn('ada', name)).status).toBe(200);
      const { headers, body } = proxy.requests.find(({ path }) => path === '/token')!;
      const form = new URLSearchParams(body);
      const inHeader =
        headers.authorization && Buffer.from(headers.authorization.slice(6), 'base64').toString();
      expect([inHeader, form.get('client_id'), form.get('client_secret')]).toEqual(expected);
    });
  });

  it('leaves no code, token or secret in the log, whatever went wrong above', () => {
    const log = service.log.join('\n');
    expect(codes.length).toBeGreaterThan(20);
    expect(proxy.tokens.length).toBeGreaterThan(20);
    const tokens = proxy.tokens.flatMap((answer) => [answer['access_token'], answer['id_token']]);
    const secrets = [SECRET, ODD_CLIENT.secret, ...codes, ...tokens].filter(
      (secret): secret is string => typeof secret === 'string' && secret !== '',
    );
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
  });
});
