import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { caep, providerEnv, push, risc, Transmitter } from '../provider-events/transmitter.js';
import { RefreshingProvider } from '../recheck/refreshing-provider.js';
import { query } from '../support/database.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { reissue } from '../support/signing-key.js';
import { hashOfName } from '../../src/token/sessions/recent-ends.js';
import { use } from '../support/use.js';
import { link, signInAt, tokensAt } from './person.js';

const seconds = (): number => Math.floor(Date.now() / 1000);

/** What OpenID providers say reaches the sessions of both doors, or of one. */
describe('a signal of a provider', () => {
  const corp = use(() => Transmitter.start());
  const hub = use(async () => {
    const started = await Transmitter.start();
    // It knows no `select_account`.
    started.proxy.tamper = (path, body) =>
      path === '/.well-known/openid-configuration'
        ? { ...body, prompt_values_supported: ['login'] }
        : undefined;
    return started;
  });
  const here = use(() =>
    startTestService(
      corp.env({
        ...providerEnv('HUB', hub.url),
        PROVIDERS_HUB_SIGNALS: 'on',
        PROVIDERS_HUB_CLAIMS: 'roles=realm.roles',
        PROVIDERS_CORP_LINKS: 'hub',
      }),
    ),
  );
  const isLive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(here.url, access_token).get('/me')).status === 200;

  async function person() {
    const [ada, octo] = [`ada-${randomUUID()}`, `octo-${randomUUID()}`];
    const own = await corp.signIn(new Person(ada), here);
    const caller = bearer(here.url, own.access_token);
    const begun = await caller.post('/me/identities', { provider: 'hub' }).expect(200);
    const callback = await new Person(octo).authorize((begun.body as { redirect_url: string }).redirect_url);
    const { a: _ofTheUri, ...answer } = Object.fromEntries(callback.searchParams);
    await caller.post('/me/identities/complete', answer).expect(200);
    const other = (await hub.exchange(new Person(octo), here, {}, 'hub')).body as Tokens;
    expect(other.user_id).toBe(own.user_id);
    return { ada, octo, own, other };
  }
  const logOut = (at: Transmitter, provider: string, sub: string) => {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const claims = {
      iss: at.url,
      aud: 'latchkey',
      iat: seconds(),
      exp: seconds() + 100,
      jti: randomUUID(),
      sub,
      events,
    };
    const { key } = at.issuer;
    const token = reissue('e30.e30.', key, claims, { alg: 'ES256', kid: key.jwk['kid'], typ: 'logout+jwt' });
    const sent = request(here.url).post(`/providers/${provider}/backchannel-logout`).type('form');
    return sent.send({ logout_token: token }).expect(200);
  };
  const send = (at: Transmitter, provider: string, event: string, sub_id: object, body: object = {}) =>
    push(here, at.set(event, { ...body }, { sub_id }), provider).expect(202);

  type Someone = Awaited<ReturnType<typeof person>>;
  it.each<[string, (one: Someone) => PromiseLike<unknown>, [boolean, boolean, number, number]]>([
    [
      'session-revoked of the own one',
      ({ ada }) => send(corp, 'corp', caep('session-revoked'), corp.subject(ada)),
      [false, false, 200, 200],
    ],
    [
      'account-disabled of the own one',
      ({ ada }) => send(corp, 'corp', risc('account-disabled'), corp.subject(ada)),
      [false, false, 403, 403],
    ],
    [
      'account-disabled of the own one, by e-mail',
      ({ ada }) =>
        send(corp, 'corp', risc('account-disabled'), { format: 'email', email: `${ada}@idp.example` }),
      [false, false, 403, 403],
    ],
    [
      'session-revoked of the other one',
      ({ octo }) => send(hub, 'hub', caep('session-revoked'), hub.subject(octo)),
      [true, false, 200, 200],
    ],
    [
      'account-disabled of the other one',
      ({ octo }) => send(hub, 'hub', risc('account-disabled'), hub.subject(octo)),
      [true, false, 200, 403],
    ],
    ['logout at the own one', ({ ada }) => logOut(corp, 'corp', ada), [false, true, 200, 200]],
    ['logout at the other one', ({ octo }) => logOut(hub, 'hub', octo), [true, false, 200, 200]],
  ])('%s', async (_what, happens, expected) => {
    const one = await person();
    await happens(one);
    const living = [await isLive(one.own), await isLive(one.other)];
    const byHub = (await hub.exchange(new Person(one.octo), here, {}, 'hub')).status;
    const byCorp = (await corp.exchange(new Person(one.ada), here)).status;
    expect([...living, byCorp, byHub]).toEqual(expected);
  });

  it('about the own account says nothing of the joined one, which can be parted', async () => {
    const { ada, octo } = await person();
    await send(corp, 'corp', risc('account-disabled'), { format: 'email', email: `${ada}@idp.example` });
    const disabled = `SELECT FROM signal_accounts WHERE subject = $1 AND disabled`;
    const countOf = async (name: Buffer) => (await query(here.databaseUrl, disabled, [name])).length;
    expect([await countOf(hashOfName('corp', ada)), await countOf(hashOfName('hub', octo))]).toEqual([1, 0]);
  });

  it('brings no claims of the joined identity', async () => {
    const { octo, own } = await person();
    const claims = { 'realm.roles': ['boss'], realm: { roles: ['boss'] } };
    await send(hub, 'hub', caep('token-claims-change'), hub.subject(octo), { claims });
    const [user] = await query(here.databaseUrl, `SELECT claims FROM users WHERE user_id = $1`, [
      own.user_id,
    ]);
    expect(user).toEqual({ claims: null });
  });
});

/** The settings of OpenID providers, at the other door. */
describe('a joined identity', () => {
  const corp = use(() => RefreshingProvider.start());
  const hub = use(() => RefreshingProvider.start());
  const env = () => ({
    ...corp.env('CORP'),
    ...hub.env('HUB', { RECHECK: '0' }),
    PROVIDERS_CORP_LINKS: 'hub',
    PUBLIC_URL: 'http://localhost:3000',
    DEVICE_GRANT: 'on',
  });
  const here = use(() => {
    const { PROVIDERS_HUB_RECHECK: _off, ...others } = env() as Record<string, string>;
    return startTestService(others);
  });
  const both = use(() => here.another({ PROVIDERS_HUB_RECHECK: '60', PROVIDERS_HUB_RECHECK_GRACE: '300' }));
  const without = use(() => here.another({ PROVIDERS_HUB_ENABLED: 'false' }));
  afterEach(() => {
    corp.reset();
    hub.reset();
    corp.claims.clear();
    hub.claims.clear();
  });
  const sql = (text: string, ...values: unknown[]) => query(here.databaseUrl, text, values);

  async function person() {
    const [ada, octo] = [`ada-${randomUUID()}`, `octo-${randomUUID()}`];
    corp.claims.set(ada, { roles: ['admin'] });
    const own = await tokensAt(here, 'corp', ada);
    expect(await link(here, own, 'hub', octo)).toMatchObject({ status: 200 });
    return { ada, octo, own };
  }
  const endsIn = async (tokens: Tokens): Promise<number> => {
    const text = `SELECT extract(epoch FROM expires_at - now())::int AS left FROM refresh_tokens WHERE session_id = $1`;
    const [row] = await sql(text, claimsOf(tokens.access_token)['sid']);
    return row!['left'] as number;
  };

  it('is let in once the own provider has been asked, with the claims of its answer', async () => {
    const { ada, octo } = await person();
    corp.claims.set(ada, { roles: ['reader'] });
    const tokens = await tokensAt(here, 'hub', octo);
    expect(corp.countOf(ada)).toBe(1);
    expect(claimsOf(tokens.access_token)).toMatchObject({ roles: ['reader'] });
    const [{ claims }] = (await sql('SELECT claims FROM users WHERE user_id = $1', tokens.user_id)) as [
      { claims: object },
    ];
    expect(claims).toEqual({ roles: ['reader'] });
  });

  it.each<[string, (ada: string, userId: string) => unknown, number]>([
    [
      'refuses',
      (ada) => (corp.refusal = (login) => (login === ada ? [400, { error: 'invalid_grant' }] : undefined)),
      403,
    ],
    ['does not answer', () => (corp.refusal = () => [500, 'oops']), 500],
    ['gave no token', (_ada, userId) => sql('DELETE FROM provider_checks WHERE user_id = $1', userId), 403],
  ])('is refused if the own provider %s', async (_what, happens, status) => {
    const { ada, octo, own } = await person();
    await happens(ada, own.user_id);
    expect((await signInAt(here, 'hub', octo)).status).toBe(status);
  });

  it('ends its sessions with the earlier session_expiry of both', async () => {
    const { ada, octo, own } = await person();
    hub.claims.set(octo, { session_expiry: seconds() + 500 });
    const first = await tokensAt(here, 'hub', octo);
    expect(await endsIn(first)).toBeLessThanOrEqual(500);
    expect(await endsIn(own)).toBeGreaterThan(500);
    corp.claims.set(ada, { session_expiry: seconds() + 400 });
    expect(await endsIn(await tokensAt(here, 'hub', octo))).toBeLessThanOrEqual(400);
  });

  it('has short sessions if its provider would be asked again: nobody does so', async () => {
    const { octo } = await person();
    expect(await endsIn(await tokensAt(both, 'hub', octo))).toBeLessThanOrEqual(300);
  });

  it('approves a device also where its provider is disabled by now', async () => {
    const { octo } = await person();
    const { access_token } = await tokensAt(here, 'hub', octo);
    const begun = await request(without.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
    const { user_code, device_code } = begun.body as { user_code: string; device_code: string };
    const decide = bearer(without.url, access_token);
    await decide.post(`/me/device-requests/${user_code}`, { approve: true }).expect(204);
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const poll = { grant_type, device_code, client_id: 'cli' };
    await request(without.url).post('/oauth2/token').send(poll).expect(200);
  });

  it('does not lend its acr and amr', async () => {
    const { ada, octo } = await person();
    for (const [stub, name] of [
      [corp, ada],
      [hub, octo],
    ] as const) {
      stub.claims.set(name, { acr: 'gold', amr: ['mfa'], auth_time: seconds() });
    }
    expect(claimsOf((await tokensAt(here, 'corp', ada)).access_token)).toMatchObject({
      acr: 'gold',
      amr: ['mfa'],
    });
    const claims = claimsOf((await tokensAt(here, 'hub', octo)).access_token);
    expect([claims['acr'], claims['amr'], claims['auth_time']]).toEqual([
      undefined,
      undefined,
      expect.any(Number),
    ]);
  });
});
