import request from 'supertest';
import { createDatabase, unhurried } from '../support/database.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const REDIRECT_URI = 'https://app.example/cb';

/** What a person may do on the administration page (docs/administration.md#who-may-do-what). */
describe('GET /admin/session', () => {
  let provider: StubProvider;

  beforeAll(async () => {
    provider = await StubProvider.start();
  });
  afterAll(() => provider?.close());
  const service = use(() =>
    startTestService({
      ...provider.env(),
      ADMIN_ROLE: 'boss',
      SUPPORT_ROLE: 'desk',
      SERVICE_KEYS: SERVICE_KEY,
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: 'https://login.corp.example',
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of corp',
      PROVIDERS_CORP_LABEL: 'Corp',
      REDIRECT_URIS: REDIRECT_URI,
    }),
  );

  async function tokenWith(claims: object | undefined): Promise<string> {
    const name = JSON.stringify(claims ?? 'none');
    provider.claims.set(name, claims);
    return (await signIn(service.url, name)).access_token;
  }

  const right = async (token: string): Promise<unknown> =>
    (await bearer(service.url, token).get('/admin/session').expect(200)).body.right;

  it.each([
    [undefined, null],
    [{ roles: [] }, null],
    [{ roles: ['latchkey-admin'] }, null], // the settings name others
    [{ groups: ['boss'], 'roles.0': 'boss' }, null],
    [{ roles: ['Boss', 'boss '] }, null],
    [{ roles: ['desk'] }, 'support'],
    [{ roles: ['desk', 'boss'] }, 'users'],
  ])('with %j says %j', async (claims, expected) => {
    expect(await right(await tokenWith(claims))).toBe(expected);
  });

  it('names the person, and the roles that are needed', async () => {
    const { access_token, user_id } = await signIn(service.url, 'linus');
    const { body } = await bearer(service.url, access_token).get('/admin/session').expect(200);
    const roles = { admin_role: 'boss', support_role: 'desk' };
    expect(body).toEqual({ user_id, username: 'Ada', provider: 'stub', right: null, ...roles });
  });

  it('follows a change of the roles with the same token', async () => {
    const { access_token, user_id } = await signIn(service.url, 'margaret');
    expect(await right(access_token)).toBeNull();
    await bearer(service.url, SERVICE_KEY)
      .put(`/users/${user_id}/claims`, { claims: { roles: ['boss'] } })
      .expect(200);
    expect(await right(access_token)).toBe('users');
  });

  it('is for people only', async () => {
    await request(service.url).get('/admin/session').expect(401);
    await bearer(service.url, SERVICE_KEY).get('/admin/session').expect(401);
  });

  it.each([
    ['GET', '/admin/overview', 'support'],
    ['GET', '/admin/providers', 'support'],
    ['POST', '/admin/providers/stub/test', 'users'],
  ] as const)('%s %s needs the right %s, and says so in a sentence', async (method, path, needed) => {
    const call = (token: string): request.Test =>
      method === 'GET' ? bearer(service.url, token).get(path) : bearer(service.url, token).post(path);
    const { body, headers } = await call(await tokenWith(undefined)).expect(403);
    expect(body).toEqual({
      error: 'insufficient_scope',
      error_description: `this call needs a service key with the right, or a role with it: ${needed}`,
    });
    expect(headers['www-authenticate']).toBe('Bearer error="insufficient_scope"');
    await call(await tokenWith({ roles: ['desk'] })).expect(needed === 'support' ? 200 : 403);
    await call(await tokenWith({ roles: ['boss'] })).expect(200);
    await call(SERVICE_KEY).expect(200);
  });

  it('lists providers with what to register there', async () => {
    const { body, text } = await bearer(service.url, SERVICE_KEY).get('/admin/providers').expect(200);
    const { providers } = body as { providers: { name: string }[] };
    const sample = { label: 'Sample provider', adapter: 'contract', mode: 'iframe', is_sample: true };
    const corp = { label: 'Corp', adapter: 'oidc', mode: 'popup', is_sample: false };
    const { url } = service;
    expect(providers.filter(({ name }) => name !== 'stub')).toMatchObject([
      { name: 'mock', ...sample, url: `${url}/providers/mock` },
      {
        name: 'corp',
        ...corp,
        url: 'https://login.corp.example',
        redirect_uris: [REDIRECT_URI, `${url}/admin/callback`, `${url}/providers/corp/callback`],
      },
    ]);
    expect(text).not.toContain('secret');
  });
});

/**
 * Which roles grant rights (docs/administration.md#turn-it-on): any provider whose claims are kept may send any
 * role.
 */
describe('a role of administrators', () => {
  const PRODUCTION = {
    NODE_ENV: 'production',
    REDIRECT_URIS: REDIRECT_URI,
    TRUST_PROXY: 'false',
  };
  const ON = { ...PRODUCTION, ADMIN_ENABLED: 'true' };
  let provider: StubProvider;

  beforeAll(async () => {
    provider = await StubProvider.start();
    provider.claims.set('a boss', { roles: ['latchkey-admin'] });
  });
  afterAll(() => provider?.close());
  const database = use(() => createDatabase());

  it.each([
    ['in development', {}, { stub: 200, community: 200, application: 200 }],
    ['of providers', { ADMIN_PROVIDERS: 'other, stub' }, { stub: 200, community: 403, application: 200 }],
    ['in production', ON, { stub: 403, community: 403, application: 200 }],
    ['of a directory', { ...ON, ADMIN_PROVIDERS: 'stub' }, { stub: 200, community: 403, application: 200 }],
    ['without the page', PRODUCTION, { stub: 403, community: 403, application: 403 }],
    ['with it off', { ADMIN_ENABLED: 'false' }, { stub: 403, community: 403, application: 403 }],
  ])('%s', async (_name, env, expected) => {
    const on = await startTestService({
      ...provider.env(),
      ...provider.env('COMMUNITY'),
      SERVICE_KEYS: SERVICE_KEY,
      DATABASE_URL: unhurried(database.url),
      ...env,
    });
    try {
      const status = async ({ access_token }: Pick<Tokens, 'access_token'>): Promise<number> =>
        (await bearer(on.url, access_token).get('/users')).status;
      const state = await beginSignIn(on.url, { provider: 'community' });
      const community = await request(on.url)
        .post('/oauth2/token')
        .send({ code: 'a boss', state })
        .expect(200);
      const user = await signIn(on.url, 'nobody');
      const claims = { roles: ['latchkey-support'] };
      await bearer(on.url, SERVICE_KEY).put(`/users/${user.user_id}/claims`, { claims }).expect(200);
      expect({
        stub: await status(await signIn(on.url, 'a boss')),
        community: await status(community.body as Tokens),
        application: await status(user),
      }).toEqual(expected);
      const calls = expected.application === 200 ? 200 : 404; // without the page they are not there
      for (const path of ['/admin/overview', '/admin/providers'])
        await bearer(on.url, SERVICE_KEY).get(path).expect(calls);
      await bearer(on.url, user.access_token).get('/admin/session').expect(calls);
    } finally {
      await on.close();
    }
  });
});
