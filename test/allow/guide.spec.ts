import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { requireRecentAuth } from '../../packages/server/src/requirements.js';
import type { UserClaims } from '../../packages/server/src/token/user-claims.js';
import { sectionsOf } from '../guides/page.js';
import { makeDue, RefreshingProvider } from '../recheck/refreshing-provider.js';
import { ClientKey } from '../support/dpop.js';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { bearer, beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use } from '../support/use.js';

type Answer = Tokens & { readonly error?: string } & Readonly<Record<string, number>>;
type Env = Record<string, string>;

const PUBLIC_URL = 'http://localhost:3000';
const GUIDE = new Map(
  ['access-policy', 'session-length', 'recheck'].flatMap((page) => [...sectionsOf(`docs/guides/${page}.md`)]),
);
const STANDARDS = sectionsOf('docs/session-standards.md');
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** Each heading of the page with settings, at services that run with them. */
describe('the guide for who may sign in', () => {
  const endings = new Endings();
  let openId: OpenIdStub;
  afterAll(() => endings.run());

  const stub = use(() => StubProvider.start());
  beforeAll(async () => {
    // The code is the identity.
    stub.answer = ({ body }, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(new URLSearchParams(body).get('code'));
    };
    openId = endings.after(await OpenIdStub.start(), (it) => it.close());
  });
  beforeEach(() => openId.reset());

  async function start(env: Env): Promise<TestService> {
    const settings = { PUBLIC_URL, SERVICE_KEYS: SERVICE_KEY, PROVIDERS_MOCK_ENABLED: 'false', ...env };
    return endings.after(await startTestService(settings), (it) => it.close());
  }
  const contract = (...names: string[]): Env => {
    const keys = { url: stub.url, claims: 'groups=claims.groups' };
    return providersEnv(Object.fromEntries(names.map((name) => [name, keys])));
  };
  const openIdProvider = (name: string, adapter = 'oidc'): Env =>
    providersEnv({ [name]: { adapter, url: openId.url, nonce: 'off' } });

  async function signIn({ url }: TestService, provider: string, identity: object = {}, more: object = {}) {
    const state = await beginSignIn(url, { provider });
    const code = JSON.stringify({ provider_user_id: 'ada', ...identity });
    const { status, body } = await request(url)
      .post('/oauth2/token')
      .send({ code, state, ...more });
    return { status, body: body as Answer };
  }
  const settingsOf = (heading: string): Env => {
    const { env } = GUIDE.get(heading)!;
    expect(env).not.toEqual({});
    return env;
  };
  const isLive = async ({ url }: TestService, { access_token }: Tokens): Promise<boolean> =>
    (await bearer(url, access_token).get('/me')).status === 200;
  const refresh = ({ url }: TestService, { refresh_token }: Tokens, more: object = {}): request.Test =>
    request(url)
      .post('/oauth2/refresh')
      .send({ refresh_token, ...more });
  const ADMITTED = { status: 200 };
  const REFUSED = { status: 403, body: { error: 'access_denied' } };

  it('replays each heading with settings', () => {
    const headings = [...GUIDE]
      .filter(([, { env }]) => Object.keys(env).length > 0)
      .map(([heading]) => heading);
    expect(headings).toEqual([
      'One company at Google',
      'Conditions',
      'Ask a service of yours',
      'Which provider',
      'Idle',
      'Number of sessions',
      'Bound sessions',
      'Ask the provider again',
    ]);
  });

  it('One company at Google', async () => {
    const service = await start({
      ...openIdProvider('google', 'google'),
      ...settingsOf('One company at Google'),
    });
    const company = { email: 'ada@corp.example', email_verified: true, hd: 'corp.example' };
    openId.claims = company;
    const { body: session, status } = await signIn(service, 'google');
    expect(status).toBe(200);
    for (const other of [
      { email: 'ada@gmail.com', hd: undefined },
      { hd: undefined },
      { email_verified: false },
    ]) {
      openId.user = { sub: randomUUID() };
      openId.claims = { ...company, ...openId.user, ...other };
      expect(await signIn(service, 'google')).toMatchObject(REFUSED);
    }
    expect(await query(service.databaseUrl, 'SELECT FROM users')).toHaveLength(1);
    expect(await isLive(service, session)).toBe(true);
    [openId.claims, openId.user] = [{ ...company, hd: undefined }, {}];
    expect(await signIn(service, 'google')).toMatchObject(REFUSED);
    expect(await isLive(service, session)).toBe(false);
  });

  it('Conditions', async () => {
    const env = settingsOf('Conditions');
    const service = await start({ ...contract('corp'), ...env });
    const email = 'ada@Corp.example';
    const staff = { claims: { groups: ['math', 'staff'] } };
    expect(await signIn(service, 'corp', { email, ...staff })).toMatchObject(ADMITTED);
    expect(await signIn(service, 'corp', { provider_user_id: '42' })).toMatchObject(ADMITTED);
    for (const other of [
      { email },
      staff,
      { email: 'ada@eu.corp.example', ...staff },
      { provider_user_id: '421' },
    ])
      expect(await signIn(service, 'corp', other)).toMatchObject(REFUSED);
    const withoutClaim = { ...contract('corp'), ...env, 'providers.corp.claims': 'plan=claims.plan' };
    await expect(startTestService(withoutClaim)).rejects.toThrow('providers.corp.allow');
  });

  it('A refused account', async () => {
    const service = await start({ ...contract('corp'), 'providers.corp.allow': 'user_id=42' });
    const { status, body } = await signIn(service, 'corp');
    const [script] = GUIDE.get('A refused account')!.scripts;
    let shown = 0;
    const showContact = (): void => void shown++;
    // oxlint-disable-next-line typescript/no-implied-eval -- the script of the page
    const run = new Function('latchkey', 'showContact', `return ${script}`) as (
      ...parts: unknown[]
    ) => Promise<unknown>;
    await run({ signIn: () => Promise.reject({ code: 'access_denied' }) }, showContact); // declined at the provider
    expect(shown).toBe(0);
    await run({ signIn: () => Promise.reject({ code: body.error, status }) }, showContact);
    expect(shown).toBe(1);
  });

  it('Ask a service of yours', async () => {
    const heading = 'Ask a service of yours';
    const receiver = endings.after(await WebhookReceiver.start(), (it) => it.close());
    expect(Object.keys(settingsOf(heading))).toEqual(['ADMISSION_URL', 'ADMISSION_SECRET']);
    const asked = { ADMISSION_URL: receiver.url, ADMISSION_SECRET: WEBHOOK_SECRET };
    const service = await start({ ...contract('corp'), ...asked });
    const answers = [...GUIDE.get(heading)!.text.matchAll(/^\| `(\{"allow": [^`]+)`/gm)].map(
      ([, answer]) => answer!,
    );
    const results = [];
    for (const answer of [...answers, '{"allow": "yes"}']) {
      receiver.answer = (response) => void response.end(answer);
      const { status, body } = await signIn(
        service,
        'corp',
        {},
        { device_id: randomUUID(), device_name: 'Phone' },
      );
      results.push([status, body.error ?? claimsOf(body.access_token)['claims']]);
    }
    expect(results).toEqual([
      [200, undefined],
      [200, { plan: 'pro' }],
      [403, 'access_denied'],
      [500, 'server_error'],
    ]);
    const [example = ''] = /^\{\n[^]*?^\}$/m.exec(GUIDE.get(heading)!.text)!;
    const membersOf = ({ data }: { data: object }): string[] => Object.keys(data).toSorted();
    const { body } = receiver.deliveries[0]!;
    expect(membersOf(body as unknown as { data: object })).toEqual(
      membersOf(JSON.parse(example) as { data: object }),
    );
  });

  it('Which provider', async () => {
    const service = await start({ ...contract('corp', 'partner', 'open'), ...settingsOf('Which provider') });
    const [, path = ''] = /`GET (\/oauth2\/providers\?email=[^`]+)`/.exec(GUIDE.get('Which provider')!.text)!;
    const namesFor = async (domain: string): Promise<string[]> => {
      const { body } = await request(service.url).get(path.replace('corp.example', domain)).expect(200);
      return (body as { providers: { name: string }[] }).providers.map(({ name }) => name);
    };
    const names = await Promise.all(
      ['corp.example', 'corp.test', 'partner.example', 'other.example'].map(namesFor),
    );
    expect(names).toEqual([['corp'], ['corp'], ['partner'], ['open']]);
    expect(await signIn(service, 'partner', { email: 'ada@corp.example' })).toMatchObject(ADMITTED);
  });

  it('How long a session lasts; why it has ended', async () => {
    const service = await start(contract('corp'));
    const { body } = await signIn(service, 'corp');
    const user = bearer(service.url, SERVICE_KEY);
    const { body: found } = await user.get(`/users/${body.user_id}`).expect(200);
    const [session] = (found as { sessions: Record<string, string>[] }).sessions;
    expect(session!['ends_because']).toBe('lifetime');
    const days = (Date.parse(session!['expires_at']!) - Date.parse(session!['created_at']!)) / 86_400_000;
    expect(GUIDE.get('How long a session lasts')!.text).toContain(`${Math.round(days)} days after`);
    await user.post(`/users/${body.user_id}/sign-out`).expect(200);
  });

  it('Idle', async () => {
    const service = await start({ ...contract('corp'), ...settingsOf('Idle') });
    const { body } = await signIn(service, 'corp');
    expect(body).toMatchObject({ idle_expires_in: 1800, refresh_token_expires_in: 2_592_000 });
    const { body: refreshed } = await refresh(service, body, { idle_for: 1000 }).expect(200);
    expect(refreshed).toMatchObject({ idle_expires_in: 800 });
    const { body: ended } = await refresh(service, body, { idle_for: 1800 }).expect(401);
    expect(ended).toMatchObject({ error: 'invalid_grant' });
    expect(await isLive(service, body)).toBe(false);
  });

  it('Number of sessions', async () => {
    const service = await start({ ...contract('corp'), ...settingsOf('Number of sessions') });
    const sessions: Answer[] = [];
    for (let i = 0; i < 4; i++) {
      const { body } = await signIn(service, 'corp', {}, { device_id: randomUUID() });
      sessions.push(body);
    }
    const live = await Promise.all(sessions.map((session) => isLive(service, session)));
    expect(live).toEqual([false, true, true, true]);
  });

  it("The provider's session", async () => {
    const service = await start(openIdProvider('corp'));
    const exp = inSeconds(1000);
    openId.claims = { session_expiry: exp };
    const { body } = await signIn(service, 'corp');
    expect(claimsOf(body.access_token)).toMatchObject({ exp });
    openId.claims = { session_expiry: inSeconds(-10) };
    expect(await signIn(service, 'corp')).toMatchObject(REFUSED);
    openId.claims = { session_expiry: String(exp) };
    expect(await signIn(service, 'corp')).toMatchObject({ status: 500, body: { error: 'server_error' } });
  });

  it('Ask the provider again', async () => {
    const { 'providers.corp.recheck': recheck = '', ...others } = settingsOf('Ask the provider again');
    expect(others).toEqual({});
    const provider = endings.after(await RefreshingProvider.start(), (it) => it.close());
    const service = await start(provider.env('CORP', { RECHECK: recheck }));
    const session = await provider.signIn(service.url, 'ada');
    const [row] = await query(
      service.databaseUrl,
      'SELECT extract(epoch FROM due_at - checked_at)::int AS pause FROM provider_checks',
    );
    expect(row).toEqual({ pause: 300 });
    provider.refusal = () => [400, { error: 'invalid_grant' }];
    await makeDue(service.databaseUrl, session.user_id);
    await until(async () => !(await isLive(service, session)), 'the session ends');
  });

  it('Bound sessions', async () => {
    const service = await start({ ...contract('corp'), ...settingsOf('Bound sessions') });
    const send = {
      code: '{"provider_user_id":"ada"}',
      state: await beginSignIn(service.url, { provider: 'corp' }),
    };
    const refused = await request(service.url).post('/oauth2/token').send(send).expect(400);
    expect(refused.body).toMatchObject({ error: 'invalid_dpop_proof' });
    const proof = new ClientKey().proof(`${PUBLIC_URL}/oauth2/token`);
    const { body } = await request(service.url)
      .post('/oauth2/token')
      .set('DPoP', proof)
      .send(send)
      .expect(200);
    await refresh(service, body as Answer).expect(400);
  });

  it('the settings for AAL2 of docs/session-standards.md', async () => {
    const { env } = STANDARDS.get('Standards for sessions')!;
    const service = await start({ ...openIdProvider('corp'), ...env });
    const exchange = async (claims: object): Promise<request.Response> => {
      openId.claims = { acr: 'gold', auth_time: inSeconds(0), ...claims };
      const state = await beginSignIn(service.url, { provider: 'corp' });
      const proof = new ClientKey().proof(`${PUBLIC_URL}/oauth2/token`);
      return request(service.url).post('/oauth2/token').set('DPoP', proof).send({ code: 'a', state });
    };
    const { body } = await exchange({});
    expect(body).toMatchObject({ idle_expires_in: 3600 });
    const maxAge = Number(new URLSearchParams(env['providers.corp.authorize_params']).get('max_age'));
    expect((body as Answer)['refresh_token_expires_in']! + maxAge + 60).toBeLessThanOrEqual(86_400);
    for (const other of [{ acr: 'silver' }, { acr: undefined }, { auth_time: inSeconds(-maxAge - 600) }])
      expect((await exchange(other)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await signIn(service, 'corp')).toMatchObject({ body: { error: 'invalid_dpop_proof' } });
    const [, options = ''] = /requireRecentAuth\((\{.*?\})\)/.exec(
      STANDARDS.get('Standards for sessions')!.text,
    )!;
    const check = requireRecentAuth(
      JSON.parse(options.replaceAll(/(\w+):/g, '"$1":').replaceAll("'", '"')) as object,
    );
    const claims = claimsOf((body as Answer).access_token) as unknown as UserClaims & { auth_time: number };
    check(claims);
    for (const other of [{ acr: 'silver' }, { auth_time: claims.auth_time - 86_400 - 60 }])
      expect(() => check({ ...claims, ...other })).toThrow('authenti');
  });
});
