import { createHmac, generateKeyPairSync } from 'node:crypto';
import { jest } from '@jest/globals';
import { SignJWT, type JWTPayload } from 'jose';
import { logoutMutants, makeLogoutToken } from '../../../../test/support/forged-tokens.js';
import { OpenIdStub } from '../../../../test/support/openid-stub.js';
import { makeSigningKey } from '../../../../test/support/signing-key.js';
import { parseSettings } from '../../../settings.js';
import type { Clock } from '../../../platform/database/clock.js';
import type { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Events } from '../../../platform/events.js';
import { OidcAdapter } from '../../../provider/adapters/oidc.adapter.js';
import { ProviderKeys } from '../../../provider/keys/provider-keys.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { type Logout, ProviderTokens } from './provider-tokens.js';
import { SignerKeys } from './signer-keys.js';

const SECRET = 'a client secret';
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Logout tokens of an OpenID provider (OpenID Connect Back-Channel Logout 1.0 §2.6). */
describe('logout tokens', () => {
  let stub: OpenIdStub;
  let http: ProviderHttp;
  let tokens: ProviderTokens;
  /** Knows no keys yet. */
  let makeTokens: () => ProviderTokens;
  /** How far the database's clock is from ours, in seconds. */
  let ahead: number;
  beforeAll(async () => {
    stub = await OpenIdStub.start();
  });
  afterAll(() => stub?.close());
  beforeEach(async () => {
    stub.reset();
    ahead = 0;
    http = new ProviderHttp();
    const keys = { adapter: 'oidc', url: stub.url, client_id: 'latchkey', client_secret: SECRET };
    const env = ['corp', 'other'].flatMap((name) =>
      Object.entries(keys).map(([key, value]) => [`providers.${name}.${key}`, value]),
    );
    const settings = parseSettings({ PROVIDERS_MOCK_ENABLED: 'false', ...Object.fromEntries(env) });
    const registry = await ProviderRegistry.load(
      settings,
      new Map([['oidc', new OidcAdapter(http)]]),
      new Events(),
    );
    const clock = { now: () => Date.now() + ahead * 1000 } as Clock;
    makeTokens = () => {
      const signers = new SignerKeys(registry, new ProviderKeys(http), http);
      return new ProviderTokens(registry, signers, clock, settings);
    };
    tokens = makeTokens();
  });
  afterEach(() => http.onApplicationShutdown());
  afterEach(() => jest.restoreAllMocks());

  const now = (): number => Math.floor(Date.now() / 1000);
  const make = (claims: object = {}, header: Record<string, unknown> = {}, key = stub.key): string =>
    makeLogoutToken(key, { iss: stub.url, sub: 'ada', sid: 's-1', ...claims }, header);
  const verify = (token: string, provider = 'corp'): Promise<Logout> => tokens.verifyLogout(provider, token);
  const failure = (work: Promise<unknown>): Promise<OAuthError> =>
    work.then(
      () => Promise.reject(new Error('it was accepted')),
      (error: unknown) => error as OAuthError,
    );
  const countRequests = (path: string): number => stub.paths.filter((one) => one === path).length;

  /** Goes forward on the clocks by which keys are kept. */
  function later(milliseconds: number): void {
    for (const clock of [performance, Date]) {
      const from = clock.now();
      jest.spyOn(clock, 'now').mockReturnValue(from + milliseconds);
    }
  }

  it('say who is meant, and until when they are good', async () => {
    const exp = now() + 90;
    expect(await verify(make({ jti: 'j', exp }))).toEqual({
      jti: 'j',
      subject: 'ada',
      session: 's-1',
      until: exp,
    });
  });

  it.each([undefined, 'JWT', 'logout+jwt', 'application/logout+jwt'])(
    'may have the typ %s (RFC 7515 §4.1.9)',
    async (typ) => {
      expect(await verify(make({}, { typ }))).toMatchObject({ subject: 'ada' });
    },
  );

  it.each(['at+jwt', 'xlogout+jwt', 'logout+jwtx', ''])(
    'may not have the typ "%s" (RFC 8725 §3.11)',
    async (typ) => {
      const error = await failure(verify(make({}, { typ })));
      expect(error).toMatchObject({
        error: 'invalid_request',
        cause: { message: expect.stringMatching(/typ/) },
      });
    },
  );

  it('are refused in every way in which they may be wrong, without telling which', async () => {
    await verify(make());
    let count = 0;
    for (const [name, text] of logoutMutants(stub.key, stub.url, 'ada', 's-1')) {
      count++;
      tokens = makeTokens(); // so that the keys are asked for, each time
      const error = await failure(verify(text)).catch(() => undefined);
      expect([name, error?.error, error?.description]).toEqual([
        name,
        'invalid_request',
        'the logout token is not valid',
      ]);
    }
    expect(count).toBeGreaterThan(100);
  });

  it.each([
    ['sid', { sid: null }, { subject: 'ada', session: null }],
    ['sub', { sub: null }, { subject: null, session: 's-1' }],
    ['exp, nbf and nonce', { exp: null, nbf: null, nonce: null }, { subject: 'ada', session: 's-1' }],
  ])('may have null in place of %s', async (_names, claims, names) => {
    expect(await verify(make(claims))).toMatchObject(names);
  });

  it.each([{ sub: null, sid: null }, { jti: null }, { iat: null }, { aud: null }, { iss: null }])(
    'are refused with %j, as without',
    async (claims) => {
      expect(await failure(verify(make(claims)))).toMatchObject({ error: 'invalid_request' });
    },
  );

  it('are refused with a cause in fixed words, for the log', async () => {
    const { cause } = await failure(verify(make({ aud: 's3cret' })));
    expect(cause).toBeInstanceOf(Error);
    expect((cause as Error).message).toBe('unexpected "aud" claim value');
    // the library's own error has the claims
    expect(Object.keys(cause as Error).toSorted()).toEqual(['about', 'name']);
  });

  it('are judged by the database’s clock', async () => {
    const token = make({ exp: now() + 60 });
    ahead = 50;
    expect(await verify(token)).toMatchObject({ subject: 'ada' });
    ahead = 70;
    expect(await failure(verify(token))).toMatchObject({ cause: { message: 'it has expired' } });
  });

  it('may be from a clock that is 30 s ahead', async () => {
    expect(await verify(make({ nbf: now() + 25 }))).toMatchObject({ subject: 'ada' });
    expect(await failure(verify(make({ nbf: now() + 40 })))).toMatchObject({ error: 'invalid_request' });
  });

  it('are of no provider that is not configured', async () => {
    expect(await failure(verify(make(), 'nobody'))).toMatchObject({
      description: 'provider is unknown or disabled',
    });
  });

  describe('are signed as ID tokens are', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const signed = (alg: string): Promise<string> => {
      const claims: JWTPayload = {
        jti: 'j',
        sub: 'ada',
        iss: stub.url,
        aud: 'latchkey',
        events: { [EVENT]: {} },
      };
      const jwt = new SignJWT(claims).setIssuedAt().setExpirationTime('1m');
      return jwt.setProtectedHeader({ alg, kid: 'rsa' }).sign(privateKey);
    };
    beforeEach(() => {
      stub.jwks = {
        keys: [
          { ...publicKey.export({ format: 'jwk' }), kid: 'rsa' },
          { ...stub.key.jwk, d: undefined },
        ],
      };
    });

    it('with RS256, where the provider names nothing (OpenID Connect Core §3.1.3.7)', async () => {
      stub.metadata = { id_token_signing_alg_values_supported: undefined };
      expect(await verify(await signed('RS256'))).toMatchObject({ subject: 'ada' });
      expect(await failure(verify(await signed('PS256')))).toMatchObject({ error: 'invalid_request' });
      expect(await failure(verify(make()))).toMatchObject({ error: 'invalid_request' });
    });

    it('with what the provider names', async () => {
      stub.metadata = { id_token_signing_alg_values_supported: ['PS256', 'ES256'] };
      expect(await verify(await signed('PS256'))).toMatchObject({ subject: 'ada' });
      expect(await verify(make())).toMatchObject({ subject: 'ada' });
      expect(await failure(verify(await signed('RS256')))).toMatchObject({ error: 'invalid_request' });
    });

    it('never with the client secret, nor not at all, whatever it names (RFC 8725 §3.1)', async () => {
      stub.metadata = { id_token_signing_alg_values_supported: ['HS256', 'none', 'ES256'] };
      stub.jwks = { keys: [{ kty: 'oct', k: Buffer.from(SECRET).toString('base64url'), kid: 'mac' }] };
      const [, body] = make().split('.');
      const encode = (header: object): string => Buffer.from(JSON.stringify(header)).toString('base64url');
      const content = `${encode({ alg: 'HS256', kid: 'mac' })}.${body}`;
      const mac = createHmac('sha256', SECRET).update(content).digest('base64url');
      for (const token of [`${content}.${mac}`, `${encode({ alg: 'none' })}.${body}.`]) {
        expect(await failure(verify(token))).toMatchObject({ error: 'invalid_request' });
      }
    });
  });

  describe('need the keys of the provider', () => {
    const second = makeSigningKey('second');
    const publish = (...keys: (typeof second)[]): void => {
      stub.jwks = { keys: keys.map(({ jwk }) => ({ ...jwk, d: undefined })) };
    };

    it('which are fetched again for an unknown key', async () => {
      await verify(make());
      publish(second);
      later(30_001);
      expect(await verify(make({}, { kid: 'second' }, second))).toMatchObject({ subject: 'ada' });
      expect(countRequests('/jwks')).toBe(2);
    });

    it('which are kept for five minutes', async () => {
      await Promise.all([verify(make()), verify(make())]);
      later(299_000);
      await verify(make());
      expect(countRequests('/jwks')).toBe(1);
      later(1001);
      await verify(make());
      expect(countRequests('/jwks')).toBe(2);
    });

    it('which are not asked for again within a second if they cannot be had', async () => {
      stub.said = { '/jwks': [503, ''] };
      for (let i = 0; i < 3; i++) expect(await failure(verify(make()))).toMatchObject({ status: 503 });
      expect(countRequests('/jwks')).toBe(1);
      stub.said = {};
      later(1001);
      expect(await verify(make())).toMatchObject({ subject: 'ada' });
    });

    it('which are not fetched again for a token that is wrong otherwise', async () => {
      await verify(make());
      later(30_001);
      await failure(verify(make({ aud: 'other' })));
      await failure(verify('x'));
      expect(countRequests('/jwks')).toBe(1);
    });

    it('which are fetched again for a new key at once, also just after the first fetch', async () => {
      await verify(make());
      publish(second);
      const token = make({}, { kid: 'second' }, second);
      await Promise.all([verify(token), verify(token)]);
      expect(countRequests('/jwks')).toBe(2);
    });

    it('which a stranger has had fetched: a token of a key made since is no bad one, and is accepted in time', async () => {
      await verify(make());
      later(30_001);
      const strange = make({}, { kid: 'strange' }, second);
      expect(await failure(verify(strange))).toMatchObject({ error: 'invalid_request' });
      publish(second);
      const token = make({}, { kid: 'second' }, second);
      for (const [after, wait] of [
        [1, '30'],
        [25_000, '5'],
      ] as const) {
        later(after);
        expect(await failure(verify(token))).toMatchObject({
          error: 'server_error',
          status: 503,
          headers: { 'Retry-After': wait },
          cause: { message: 'no applicable key found in the JSON Web Key Set' },
        });
      }
      expect(countRequests('/jwks')).toBe(2);
      later(5000);
      expect(await verify(token)).toMatchObject({ subject: 'ada' });
      await failure(verify(strange));
      expect(await verify(token)).toMatchObject({ subject: 'ada' });
    });

    // It may send the token again: so 503 and Retry-After, and not 400.
    it.each([
      ['at first', false],
      ['when a new one is needed', true],
    ])('which cannot be had %s', async (_name, isKnown) => {
      if (isKnown) await verify(make());
      later(30_001);
      stub.said = { '/jwks': [503, '{"s3cret":1}'] };
      const error = await failure(verify(make({}, { kid: 'second' }, second)));
      expect(error).toMatchObject({
        error: 'server_error',
        status: 503,
        description: 'the keys of the identity provider cannot be had right now',
        headers: { 'Retry-After': '1' },
        cause: { message: 'the jwks_uri answered with status 503' },
      });
      later(1001);
      stub.said = {};
      publish(second);
      expect(await verify(make({}, { kid: 'second' }, second))).toMatchObject({ subject: 'ada' });
    });

    it('whose absence is told without what the provider sent', async () => {
      stub.said = { '/.well-known/openid-configuration': [200, '{"s3cret'] };
      const { cause } = await failure(verify(make()));
      expect((cause as Error).message).not.toContain('s3cret');
      expect((cause as Error).cause).toBeUndefined();
    });
  });
});
