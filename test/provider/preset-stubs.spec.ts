import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import request, { type Response } from 'supertest';
import { isInstalled, needs } from '../support/installed.js';
import { startServiceProcess } from '../support/service-process.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { createDatabase, unhurried } from '../support/database.js';
import { StubInternet, type StubAnswer, type StubRequest } from '../support/stub-internet.js';
import { use } from '../support/use.js';

const SECRET = 'a client secret of the stub';
const TENANT = '7f58b3ad-3a6a-4d7d-8a35-1b6f9bd3a4c1';
const OTHER_TENANT = '0c8d7a3e-52a5-4a3c-9d55-0e9d1c3c7a11';
const FOREIGN_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';
const APPLE = { team: 'TEAM123456', key: 'KEY1234567' };

type Part = Readonly<Record<string, unknown>>;

/** How a product deviates from OpenID Connect, as far as a sign-in shows it. */
interface ProductStub {
  /** Lines of `.env` beside adapter, client id and client secret. */
  readonly env?: Readonly<Record<string, string>>;
  /** Address of the discovery document, and what it has. */
  readonly discovery?: readonly [address: string, document: Part];
  /** Without a discovery document. */
  readonly addresses?: { readonly token: string; readonly user: string };
  /** Of the ID token, which also has `aud`, `iat` and `exp`; the nonce is that of the request. */
  readonly claims?: Part;
  /** Whether the ID token lacks the nonce. */
  readonly forgetsNonce?: boolean;
  /** Beside the tokens in the answer of the token endpoint. */
  readonly token?: Part;
  readonly user?: Part;
  /** Answer to a code that was used; the code of that is `used`. */
  readonly refusal: StubAnswer;
  /** Refuses a request for tokens. */
  readonly refuses?: (form: URLSearchParams) => StubAnswer | undefined;
  readonly me: Part;
  /** What a client gets for a used code, if not 401 `invalid_grant`. */
  readonly refused?: readonly [status: number, error: string];
}

const INVALID_GRANT: StubAnswer = { status: 400, body: { error: 'invalid_grant' } };

/** Each as its maker documents it; a second source names a deviation that the documents leave out. */
const PRODUCTS: Readonly<Record<string, ProductStub>> = {
  // learn.microsoft.com/entra/identity-platform/id-token-claims-reference; MicrosoftDocs/azure-docs#38427 ({tenantid})
  microsoft: {
    env: { TENANTS: `${TENANT},${OTHER_TENANT}`, CLAIMS: 'groups=groups,tenant=tid' },
    discovery: [
      'https://login.microsoftonline.com/organizations/v2.0',
      {
        issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0',
        authorization_endpoint: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/authorize',
        token_endpoint: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/token',
        jwks_uri: 'https://login.microsoftonline.com/organizations/discovery/v2.0/keys',
        userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
        end_session_endpoint: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/logout',
        token_endpoint_auth_methods_supported: [
          'client_secret_post',
          'private_key_jwt',
          'client_secret_basic',
        ],
        response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
        subject_types_supported: ['pairwise'],
        id_token_signing_alg_values_supported: ['RS256'],
        request_uri_parameter_supported: false,
        tenant_region_scope: null,
      },
    ],
    // No at_hash, no e-mail address; over 200 groups are a reference to the Graph API.
    claims: {
      iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
      tid: TENANT,
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
      name: 'Ada Lovelace',
      preferred_username: 'ada@corp.example',
      ver: '2.0',
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://graph.windows.net/users/ada/getMemberObjects' } },
    },
    token: { scope: 'openid profile email', expires_in: 4799, ext_expires_in: 4799 },
    user: { sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', name: 'Ada Lovelace' },
    refusal: {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'AADSTS54005', error_codes: [54005], trace_id: 'x' },
    },
    me: { username: 'Ada Lovelace', email: null, claims: { tenant: TENANT } },
  },
  // developer.okta.com/docs/reference/api/oidc: a thin ID token, the rest at userinfo
  okta: {
    env: { URL: 'https://corp.okta.com', CLAIMS: 'groups=groups' },
    discovery: [
      'https://corp.okta.com',
      {
        issuer: 'https://corp.okta.com',
        authorization_endpoint: 'https://corp.okta.com/oauth2/v1/authorize',
        token_endpoint: 'https://corp.okta.com/oauth2/v1/token',
        jwks_uri: 'https://corp.okta.com/oauth2/v1/keys',
        userinfo_endpoint: 'https://corp.okta.com/oauth2/v1/userinfo',
        end_session_endpoint: 'https://corp.okta.com/oauth2/v1/logout',
        pushed_authorization_request_endpoint: 'https://corp.okta.com/oauth2/v1/par',
        token_endpoint_auth_methods_supported: [
          'client_secret_basic',
          'client_secret_post',
          'private_key_jwt',
        ],
        id_token_signing_alg_values_supported: ['RS256'],
        code_challenge_methods_supported: ['S256'],
      },
    ],
    claims: {
      iss: 'https://corp.okta.com',
      sub: '00uid4BxXw6I6TV4m0g3',
      ver: 1,
      amr: ['pwd'],
      idp: '00ok1u7Asb',
    },
    user: {
      sub: '00uid4BxXw6I6TV4m0g3',
      name: 'Ada Lovelace',
      email: 'ada@corp.example',
      email_verified: true,
      preferred_username: 'ada@corp.example',
      groups: ['Everyone', 'staff'],
      updated_at: 1_500_000_000,
    },
    refusal: INVALID_GRANT,
    me: {
      username: 'Ada Lovelace',
      email: 'ada@corp.example',
      claims: { groups: ['Everyone', 'staff'] },
    },
  },
  // auth0.com/docs: the issuer ends with a slash; claims of Actions have names like addresses
  auth0: {
    env: { URL: 'https://corp.eu.auth0.com', CLAIMS: 'roles=https://app.example/roles' },
    discovery: [
      'https://corp.eu.auth0.com',
      {
        issuer: 'https://corp.eu.auth0.com/',
        authorization_endpoint: 'https://corp.eu.auth0.com/authorize',
        token_endpoint: 'https://corp.eu.auth0.com/oauth/token',
        jwks_uri: 'https://corp.eu.auth0.com/.well-known/jwks.json',
        userinfo_endpoint: 'https://corp.eu.auth0.com/userinfo',
        token_endpoint_auth_methods_supported: [
          'client_secret_basic',
          'client_secret_post',
          'private_key_jwt',
        ],
        id_token_signing_alg_values_supported: ['HS256', 'RS256', 'PS256'],
        code_challenge_methods_supported: ['S256', 'plain'],
      },
    ],
    claims: {
      iss: 'https://corp.eu.auth0.com/',
      sub: 'auth0|507f1f77bcf86cd799439011',
      nickname: 'ada',
      name: 'Ada Lovelace',
      email: 'ada@corp.example',
      email_verified: true,
      picture: 'https://s.gravatar.com/avatar/ada',
      'https://app.example/roles': ['editor'],
      updated_at: '2026-11-20T10:00:00.000Z',
    },
    token: { scope: 'openid profile email', expires_in: 86_400 },
    refusal: {
      status: 403,
      body: { error: 'invalid_grant', error_description: 'Invalid authorization code' },
    },
    me: {
      email: 'ada@corp.example',
      avatar_url: 'https://s.gravatar.com/avatar/ada',
      claims: { roles: ['editor'] },
    },
  },
  // docs.gitlab.com/integration/openid_connect_provider: direct groups in the ID token, all at userinfo
  gitlab: {
    env: { CLAIMS: 'groups=groups_direct' },
    discovery: [
      'https://gitlab.com',
      {
        issuer: 'https://gitlab.com',
        authorization_endpoint: 'https://gitlab.com/oauth/authorize',
        token_endpoint: 'https://gitlab.com/oauth/token',
        jwks_uri: 'https://gitlab.com/oauth/discovery/keys',
        userinfo_endpoint: 'https://gitlab.com/oauth/userinfo',
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        id_token_signing_alg_values_supported: ['RS256'],
        code_challenge_methods_supported: ['plain', 'S256'],
      },
    ],
    claims: {
      iss: 'https://gitlab.com',
      sub: '4711',
      auth_time: 1_500_000_000,
      sub_legacy: 'f00',
      name: 'Ada Lovelace',
      nickname: 'ada',
      preferred_username: 'ada',
      email: 'ada@corp.example',
      email_verified: true,
      profile: 'https://gitlab.com/ada',
      picture: 'https://gitlab.com/uploads/ada.png',
      groups_direct: ['corp/staff'],
    },
    token: { created_at: 1_500_000_000, expires_in: 7200, refresh_token: 'another', scope: 'openid' },
    refusal: {
      status: 400,
      body: { error: 'invalid_grant', error_description: 'The provided grant is invalid' },
    },
    me: { username: 'Ada Lovelace', email: 'ada@corp.example', claims: { groups: ['corp/staff'] } },
  },
  // developer.apple.com/documentation/signinwithapple; nicokaiser/passport-apple#79 (booleans as text)
  apple: {
    env: { CLAIMS: 'relay=is_private_email' },
    discovery: [
      'https://appleid.apple.com',
      {
        issuer: 'https://appleid.apple.com',
        authorization_endpoint: 'https://appleid.apple.com/auth/authorize',
        token_endpoint: 'https://appleid.apple.com/auth/token',
        jwks_uri: 'https://appleid.apple.com/auth/keys',
        response_types_supported: ['code'],
        response_modes_supported: ['query', 'fragment', 'form_post'],
        token_endpoint_auth_methods_supported: ['client_secret_post'],
        id_token_signing_alg_values_supported: ['RS256'],
      },
    ],
    claims: {
      iss: 'https://appleid.apple.com',
      sub: '001234.0f5e.0001',
      email: 'x1x1@privaterelay.appleid.com',
      email_verified: 'true',
      is_private_email: 'true',
      auth_time: 1_500_000_000,
      nonce_supported: true,
    },
    refusal: INVALID_GRANT,
    me: { email: 'x1x1@privaterelay.appleid.com', claims: { relay: 'true' } },
  },
  // learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2; directus/directus#23645
  linkedin: {
    env: { CLAIMS: 'country=locale.country' },
    discovery: [
      'https://www.linkedin.com/oauth',
      {
        issuer: 'https://www.linkedin.com/oauth',
        authorization_endpoint: 'https://www.linkedin.com/oauth/v2/authorization',
        token_endpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
        jwks_uri: 'https://www.linkedin.com/oauth/openid/jwks',
        userinfo_endpoint: 'https://api.linkedin.com/v2/userinfo',
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
      },
    ],
    forgetsNonce: true,
    claims: {
      iss: 'https://www.linkedin.com/oauth',
      sub: '782bbtaQ',
      name: 'Ada Lovelace',
      email: 'ada@corp.example',
      email_verified: 'true',
      picture: 'https://media.licdn.com/ada',
    },
    user: {
      sub: '782bbtaQ',
      name: 'Ada Lovelace',
      locale: { country: 'US', language: 'en' },
      email_verified: true,
    },
    token: { expires_in: 5_184_000, scope: 'email,openid,profile' },
    // nextauthjs/next-auth#8831
    refuses: (form) =>
      form.has('code_verifier')
        ? {
            status: 401,
            body: { error: 'invalid_client', error_description: 'Client authentication failed' },
          }
        : undefined,
    refusal: {
      status: 400,
      body: { error: 'invalid_request', error_description: 'Unable to retrieve access token' },
    },
    me: { username: 'Ada Lovelace', email: 'ada@corp.example', claims: { country: 'US' } },
    refused: [400, 'invalid_request'],
  },
  // docs.slack.dev/authentication/sign-in-with-slack; docs.slack.dev/reference/methods/openid.connect.token
  slack: {
    env: { CLAIMS: 'team=https://slack.com/team_id' },
    discovery: [
      'https://slack.com',
      {
        issuer: 'https://slack.com',
        authorization_endpoint: 'https://slack.com/openid/connect/authorize',
        token_endpoint: 'https://slack.com/api/openid.connect.token',
        jwks_uri: 'https://slack.com/openid/connect/keys',
        userinfo_endpoint: 'https://slack.com/api/openid.connect.userInfo',
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      },
    ],
    claims: {
      iss: 'https://slack.com',
      sub: 'U0R7JM',
      'https://slack.com/team_id': 'T0R7GR',
      'https://slack.com/user_id': 'U0R7JM',
      email: 'ada@corp.example',
      email_verified: true,
      name: 'Ada Lovelace',
      picture: 'https://secure.gravatar.com/ada.jpg',
      locale: 'en-US',
    },
    token: { ok: true },
    refusal: { status: 200, body: { ok: false, error: 'invalid_code' } },
    me: { username: 'Ada Lovelace', email: 'ada@corp.example', claims: { team: 'T0R7GR' } },
  },
  // developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow and …/graph-api/reference/user
  facebook: {
    env: { CLAIMS: 'small=picture.data.width' },
    addresses: {
      token: 'https://graph.facebook.com/v21.0/oauth/access_token',
      user: 'https://graph.facebook.com/v21.0/me',
    },
    user: {
      id: '10158',
      name: 'Ada Lovelace',
      email: 'ada@corp.example',
      picture: {
        data: {
          height: 50,
          is_silhouette: false,
          url: 'https://platform-lookaside.fbsbx.com/ada',
          width: 50,
        },
      },
    },
    token: { token_type: 'bearer', expires_in: 5_183_944 },
    refusal: {
      status: 400,
      body: {
        error: {
          message: 'This authorization code has been used.',
          type: 'OAuthException',
          code: 100,
          error_subcode: 36009,
          fbtrace_id: 'x',
        },
      },
    },
    me: {
      username: 'Ada Lovelace',
      email: 'ada@corp.example',
      avatar_url: 'https://platform-lookaside.fbsbx.com/ada',
      claims: { small: 50 },
    },
  },
};

/** A user who consents to everything: what the product remembers of an authorization request, by code. */
interface Authorization {
  readonly product: string;
  readonly parameters: URLSearchParams;
  readonly claims: Part;
}

const stubs = Object.entries(PRODUCTS);
const addressesOf = ({ discovery, addresses }: ProductStub) => {
  const [, document] = discovery ?? [];
  return {
    token: addresses?.token ?? document!['token_endpoint'],
    user: addresses?.user ?? document!['userinfo_endpoint'],
    keys: document?.['jwks_uri'],
  };
};
const hosts = new Set([
  'graph.microsoft.com',
  ...stubs.flatMap(([, { discovery, addresses }]) =>
    [...Object.values(addresses ?? {}), ...Object.values(discovery?.[1] ?? {})]
      .filter((value) => typeof value === 'string' && value.startsWith('https:') && !value.includes('{'))
      .map((value) => new URL(value as string).host),
  ),
]);

/** Products that are not reachable from a test: each preset signs in, at a stub with the product's deviations. */
needs({ openssl: isInstalled('openssl') }).describe('presets', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const authorizations = new Map<string, Authorization>();

  const internet = use(() => StubInternet.start([...hosts], answer));
  const database = use(() => createDatabase());
  const lines = stubs.flatMap(([name, { env }]) => [
    [`PROVIDERS_${name.toUpperCase()}_ADAPTER`, name],
    [`PROVIDERS_${name.toUpperCase()}_CLIENT_ID`, 'latchkey'],
    ...(name === 'apple' ? [] : [[`PROVIDERS_${name.toUpperCase()}_CLIENT_SECRET`, SECRET]]),
    ...Object.entries(env ?? {}).map(([key, value]) => [`PROVIDERS_${name.toUpperCase()}_${key}`, value]),
  ]);
  const service = use(
    () =>
      startServiceProcess({
        ...(Object.fromEntries(lines) as Record<string, string>),
        ...appleEnv(apple.privateKey),
        ...internet.env,
        DATABASE_URL: unhurried(database.url),
        REDIRECT_URIS: 'https://app.example/callback',
        PUBLIC_URL: 'https://auth.example',
      }),
    (one) => one.end('SIGTERM'),
  );

  async function answer(asked: StubRequest): Promise<StubAnswer | undefined> {
    for (const [name, stub] of stubs) {
      const { token, user, keys } = addressesOf(stub);
      if (asked.address === `${stub.discovery?.[0]}/.well-known/openid-configuration`)
        return { body: stub.discovery![1] };
      if (asked.address === token) return tokens(name, stub, asked);
      // Entra's keys name no algorithm.
      if (asked.address === keys)
        return { body: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig' }] } };
      if (asked.address === user)
        return asked.headers.authorization === `Bearer ${name}`
          ? { body: stub.user ?? stub.claims }
          : { status: 401, body: {} };
    }
    return undefined;
  }

  async function tokens(
    name: string,
    stub: ProductStub,
    { form, headers }: StubRequest,
  ): Promise<StubAnswer> {
    const code = form.get('code')!;
    const authorization = authorizations.get(code);
    const refused = stub.refuses?.(form);
    if (refused || !authorization) return refused ?? stub.refusal;
    authorizations.delete(code);
    const { parameters, claims } = authorization;
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (parameters.has('code_challenge') && parameters.get('code_challenge') !== challenge)
      return stub.refusal;
    expect(form.get('redirect_uri')).toBe(parameters.get('redirect_uri'));
    expect(form.get('grant_type')).toBe('authorization_code');
    const basic = Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString();
    const secret = form.get('client_secret') ?? decodeURIComponent(basic.split(':')[1]!.replaceAll('+', ' '));
    if (name === 'apple') await expectAppleSecret(secret, apple.publicKey);
    else expect(secret).toBe(SECRET);
    const nonce = stub.forgetsNonce ? undefined : (parameters.get('nonce') ?? undefined);
    const idToken = new SignJWT({ ...claims, ...(nonce && { nonce }) })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setAudience('latchkey')
      .setIssuedAt()
      .setExpirationTime('1h');
    const body = { access_token: name, token_type: 'Bearer', ...stub.token };
    return { body: stub.claims ? { ...body, id_token: await idToken.sign(privateKey) } : body };
  }

  /** Signs in as a client of the application, whose browser is at the product. @param code of the product */
  async function signIn(
    name: string,
    code: string,
    claims = PRODUCTS[name]!.claims ?? {},
  ): Promise<Response> {
    const begun = await request(service.url).get('/oauth2/authorize').query({ provider: name }).expect(200);
    const page = new URL((begun.body as { redirect_url: string }).redirect_url);
    if (code !== 'used') authorizations.set(code, { product: name, parameters: page.searchParams, claims });
    const state = page.searchParams.get('state');
    if (name !== 'apple') return request(service.url).post('/oauth2/token').send({ code, state });
    // Apple sends name and e-mail address only in a form.
    expect(page.searchParams.get('response_mode')).toBe('form_post');
    expect(page.searchParams.get('redirect_uri')).toBe('https://auth.example/providers/apple/callback');
    const user = JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' } });
    const { headers } = await request(service.url)
      .post('/providers/apple/callback')
      .type('form')
      .send({ code, state, user })
      .expect(303);
    const back = new URL(headers['location']!);
    expect(`${back.origin}${back.pathname}`).toBe('https://app.example/callback');
    return request(service.url).post('/oauth2/token').send(Object.fromEntries(back.searchParams));
  }

  it.each(stubs)('%s: signs in, with the claims that a setting names', async (name, { me }) => {
    const { status, body } = await signIn(name, `code of ${name}`);
    expect([status, body]).toEqual([200, expect.anything()]);
    const answered = await bearer(service.url, (body as Tokens).access_token)
      .get('/me')
      .expect(200);
    expect(answered.body).toMatchObject(me);
  });

  it.each(stubs)('%s: refuses a used code', async (name, { refused = [401, 'invalid_grant'] }) => {
    const { status, body } = await signIn(name, 'used');
    expect([status, (body as { error: string }).error]).toEqual(refused);
  });

  it('microsoft: refuses another tenant', async () => {
    const foreign = {
      ...PRODUCTS['microsoft']!.claims,
      tid: FOREIGN_TENANT,
      iss: `https://login.microsoftonline.com/${FOREIGN_TENANT}/v2.0`,
    };
    const { status } = await signIn('microsoft', 'a foreign code', foreign);
    expect(status).not.toBe(200);
  });
});

function appleEnv(key: KeyObject): Record<string, string> {
  return {
    PROVIDERS_APPLE_TEAM_ID: APPLE.team,
    PROVIDERS_APPLE_CLIENT_KEY_ID: APPLE.key,
    PROVIDERS_APPLE_CLIENT_KEY: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

/** developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
async function expectAppleSecret(secret: string, key: KeyObject): Promise<void> {
  expect(decodeProtectedHeader(secret)).toMatchObject({ alg: 'ES256', kid: APPLE.key });
  const { iat, exp } = decodeJwt(secret);
  expect(exp! - iat!).toBeLessThanOrEqual(15_777_000);
  await jwtVerify(secret, key, {
    issuer: APPLE.team,
    subject: 'latchkey',
    audience: 'https://appleid.apple.com',
  });
}
