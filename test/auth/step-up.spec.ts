import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { dump, query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { OidcIssuer, Person, TamperingProxy, type Tamper } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { authorization, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { reissue } from '../support/signing-key.js';
import { StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

type Claims = Record<string, unknown>;

const SERVICE_KEY = 'read-key-'.padEnd(40, 'x');
const REDIRECT_URI = 'https://app.example/cb?a=1';
const ago = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;

/**
 * Step-up at a real OpenID provider (docs/guides/step-up.md#from-the-provider; RFC 9470), behind a proxy that
 * changes the claims of its ID tokens.
 */
describe('step-up', () => {
  const proxy = use(() => TamperingProxy.start());
  const issuer = use(() => OidcIssuer.behind(proxy));
  const stub = use(() => StubProvider.start());
  const oidc = (name: string): Record<string, string> => ({
    [`PROVIDERS_${name}_ADAPTER`]: 'oidc',
    [`PROVIDERS_${name}_URL`]: proxy.url,
    [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
    [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the issuer',
  });
  const service = use(() =>
    startTestService({
      ...oidc('CORP'),
      ...oidc('STRICT'),
      PROVIDERS_STRICT_AUTHORIZE_PARAMS: 'acr_values=gold',
      ...stub.env(),
      ...stub.env('ASKING'),
      PROVIDERS_ASKING_AUTH_TIME: 'sign_in',
      REDIRECT_URIS: `${REDIRECT_URI},https://app.example/cb`,
      SERVICE_KEYS: `read:${SERVICE_KEY}`,
    }),
  );
  beforeAll(() => {
    const redirect_uris = [REDIRECT_URI, `${service.url}/providers/corp/callback`];
    issuer.restart({ client: { redirect_uris } });
  });
  beforeEach(() => proxy.reset());

  /** Sets claims of the ID token. */
  const says =
    (claims: Claims): Tamper =>
    (path, body) =>
      path === '/token'
        ? { ...body, id_token: reissue(body['id_token'] as string, issuer.key, claims) }
        : undefined;

  const token = (body: object): request.Test => request(service.url).post('/oauth2/token').send(body);

  /** Signs in at the provider. @returns what the client posts */
  async function callback(asked: object = {}, person = new Person('ada')): Promise<Record<string, string>> {
    const { redirect_url } = await authorization(service.url, { provider: 'corp', ...asked });
    return Object.fromEntries((await person.authorize(redirect_url)).searchParams);
  }

  const signInWith = async (asked: object, claims: Claims, body: object = {}): Promise<Tokens> => {
    proxy.tamper = says(claims);
    return (await token({ ...(await callback(asked)), ...body }).expect(200)).body as Tokens;
  };

  const introspect = async (body: object): Promise<object> =>
    (
      await request(service.url)
        .post('/oauth2/introspect')
        .set('Authorization', `Bearer ${SERVICE_KEY}`)
        .send(body)
        .expect(200)
    ).body as object;

  const refreshed = async (refresh_token: string): Promise<string> => {
    const { body } = await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    return (body as Tokens).access_token;
  };

  it.each([[{ device_id: randomUUID() }], [{}]])(
    'puts what the ID token says into every token of the session %j, and into introspection',
    async (device) => {
      // Not asked for: it is carried all the same.
      const said = { auth_time: ago(1000), acr: 'urn:mace:silver', amr: ['pwd', 'otp'] };
      const tokens = await signInWith({}, said, device);
      expect(claimsOf(tokens.access_token)).toMatchObject(said);
      expect(claimsOf(await refreshed(tokens.refresh_token))).toMatchObject(said);
      const { access_token, refresh_token } = tokens;
      expect(await introspect({ token: access_token })).toMatchObject(said);
      const hint = { token_type_hint: 'refresh_token' };
      expect(await introspect({ token: refresh_token, ...hint })).toMatchObject({ ...said, ...device });
      const { sid } = claimsOf(access_token);
      expect(
        await query(service.databaseUrl, 'SELECT auth_time FROM refresh_tokens WHERE session_id = $1', [sid]),
      ).toEqual([{ auth_time: new Date(said.auth_time * 1000) }]);
    },
  );

  it('keeps the values of a session that is bound to a key', async () => {
    const key = new ClientKey();
    proxy.tamper = says({ acr: 'gold' });
    const { body } = await token(await callback())
      .set('DPoP', key.proof(`${service.url}/oauth2/token`))
      .expect(200);
    const { refresh_token } = body as Tokens;
    const answer = await request(service.url)
      .post('/oauth2/refresh')
      .set('DPoP', key.proof(`${service.url}/oauth2/refresh`))
      .send({ refresh_token })
      .expect(200);
    expect(claimsOf((answer.body as Tokens).access_token)).toMatchObject({ acr: 'gold' });
    await request(service.url)
      .post('/oauth2/refresh')
      .send({ refresh_token })
      .expect(400, /invalid_dpop_proof/);
  });

  it('leaves tokens as they were if the provider says nothing', async () => {
    const { access_token, refresh_token } = await signIn(service.url);
    const names = ['iss', 'aud', 'sub', 'sid', 'client_id', 'jti', 'iat', 'exp'];
    expect(Object.keys(claimsOf(access_token))).toEqual(names);
    expect(Object.keys(claimsOf(await refreshed(refresh_token)))).toEqual(names);
    expect(refresh_token).toHaveLength(4 + 110); // ids and 256 random bits in base64url
  });

  it('does not accept a refresh token with values that were put into it', async () => {
    const { refresh_token } = await signInWith({}, { acr: 'silver' });
    const bytes = Buffer.from(refresh_token.slice(4), 'base64url');
    bytes.write('golden', bytes.indexOf('silver'));
    await request(service.url)
      .post('/oauth2/refresh')
      .send({ refresh_token: `lkr_${bytes.toString('base64url')}` })
      .expect(401, /invalid_grant/);
  });

  it('makes the provider ask its signed-in user again, if max_age says so', async () => {
    const person = new Person('ada');
    const signInAt = async (asked: object): Promise<number> => {
      const { body } = await token(await callback(asked, person)).expect(200);
      return claimsOf((body as Tokens).access_token)['auth_time'] as number;
    };
    const nextPage = async (asked: object): Promise<string> => {
      const { redirect_url } = await authorization(service.url, { provider: 'corp', ...asked });
      return (await person.fetch(redirect_url)).headers.get('Location')!;
    };
    const first = await signInAt({ max_age: '3600' });
    expect(await nextPage({ max_age: '3600' })).toContain(REDIRECT_URI);
    expect(await nextPage({ max_age: '0' })).toContain('/interaction/');
    expect(await signInAt({ max_age: '0' })).toBeGreaterThanOrEqual(first);
  });

  it('leaves out an auth_time of the future', async () => {
    const { access_token } = await signInWith({}, { auth_time: ago(-3600), acr: '1' });
    expect(claimsOf(access_token)).toMatchObject({ acr: '1' });
    expect(claimsOf(access_token)).not.toHaveProperty('auth_time');
  });

  it.each<[string, object, () => Claims]>([
    ['an auth_time within the tolerance of 60 s', { max_age: '300' }, () => ({ auth_time: ago(330) })],
    ['an auth_time that is ahead by less', { max_age: '0' }, () => ({ auth_time: ago(-30) })],
    ['one of several acr_values', { acr_values: 'gold  platinum' }, () => ({ acr: 'platinum' })],
    [
      'both',
      { max_age: '0', acr_values: 'gold' },
      () => ({ acr: 'gold', auth_time: ago(0), amr: 'no list' }),
    ],
  ])('accepts %s', async (_name, asked, said) => {
    expect(claimsOf((await signInWith(asked, said())).access_token)).not.toHaveProperty('amr');
  });

  describe('refuses, and writes nothing', () => {
    const rows = async (): Promise<string> =>
      (await dump(service.databaseUrl)).replaceAll(/^(authorization_states|audit_events) .*\n?/gm, '');

    it.each<[string, object, () => Claims]>([
      ['no auth_time', { max_age: '300' }, () => ({ auth_time: undefined })],
      ['an old auth_time', { max_age: '300' }, () => ({ auth_time: ago(600) })],
      ['an old auth_time for max_age 0', { max_age: '0' }, () => ({ auth_time: ago(300) })],
      ['an auth_time of the future', { max_age: '300' }, () => ({ auth_time: ago(-3600) })],
      ['an auth_time in milliseconds', { max_age: '300' }, () => ({ auth_time: Date.now() })],
      ['no acr', { acr_values: 'gold' }, () => ({ acr: undefined })],
      ['another acr', { acr_values: 'gold platinum' }, () => ({ acr: 'silver' })],
      ['an acr that only begins alike', { acr_values: 'gold' }, () => ({ acr: 'golden' })],
      [
        'an acr that is both values in one',
        { acr_values: 'gold platinum' },
        () => ({ acr: 'gold platinum' }),
      ],
      ['an acr that is a list', { acr_values: 'gold' }, () => ({ acr: ['gold'] })],
      [
        'one of two that does not hold',
        { max_age: '300', acr_values: 'gold' },
        () => ({ acr: 'gold', auth_time: ago(600) }),
      ],
    ])('%s', async (_name, asked, said) => {
      proxy.tamper = says(said());
      const posted = await callback(asked);
      const before = await rows();
      const { body } = await token(posted).expect(401);
      expect(body).toEqual({ error: 'invalid_grant', error_description: expect.any(String) });
      expect(await rows()).toBe(before);
      await token(posted).expect(401, /state is unknown, used or expired/);
    });

    it.each([['-1'], [-1], [true], [null]])(
      'an auth_time that is %j, which counts as absent',
      async (auth_time) => {
        proxy.tamper = says({ auth_time });
        const { body } = await token(await callback()).expect(200);
        expect(claimsOf((body as Tokens).access_token)).not.toHaveProperty('auth_time');
        await token(await callback({ max_age: '300' })).expect(401, /invalid_grant/);
      },
    );

    it('a provider that reports no time, with the setting to look at in the log', async () => {
      const state = (await authorization(service.url, { max_age: '300' })).state;
      await token({ code: 'ada', state }).expect(401, /max_age was asked for/);
      expect(service.log.join('')).toContain('set PROVIDERS_STUB_AUTH_TIME to sign_in');
    });

    it('a user who took acr_values of the settings out of the address', async () => {
      const { redirect_url } = await authorization(service.url, { provider: 'strict' });
      const address = new URL(redirect_url);
      expect(address.searchParams.get('acr_values')).toBe('gold');
      address.searchParams.delete('acr_values');
      const { searchParams } = await new Person('ada').authorize(address.href);
      await token(Object.fromEntries(searchParams)).expect(401, /acr/);
    });

    it('a stock OAuth client, by its redirect URI', async () => {
      const client = new StockClient();
      const provider = { provider: 'corp', max_age: '300' };
      const finish = async (claims: Claims): Promise<URLSearchParams> => {
        proxy.tamper = says(claims);
        const begun = await client.authorize(service.url, provider).expect(302);
        const { pathname, search } = await new Person('ada').authorize(begun.headers['location']!);
        const { headers } = await request(service.url)
          .get(pathname + search)
          .expect(302);
        return new URL(headers['location']!).searchParams;
      };
      expect((await finish({ auth_time: ago(600) })).get('error')).toBe('server_error');
      const auth_time = ago(0);
      const code = (await finish({ auth_time, acr: '1' })).get('code')!;
      const { body } = await client.token(service.url, code).expect(200);
      expect(claimsOf((body as Tokens).access_token)).toMatchObject({ auth_time, acr: '1' });
    });
  });

  it('takes the time of the sign-in, with auth_time=sign_in', async () => {
    const { state } = await authorization(service.url, { provider: 'asking', max_age: '0' });
    const { body } = await token({ code: 'ada', state }).expect(200);
    const { auth_time, iat } = claimsOf((body as Tokens).access_token) as Record<string, number>;
    expect(Number.isInteger(auth_time)).toBe(true);
    expect(Math.abs(auth_time! - iat!)).toBeLessThan(30);
    expect(claimsOf(await refreshed((body as Tokens).refresh_token))).toMatchObject({ auth_time });
  });
});
