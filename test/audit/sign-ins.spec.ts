import { randomUUID } from 'node:crypto';
import type request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { asBrowser, eventsOf, HERE, storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { authorization, beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { startTestService } from '../support/service.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const MAX_SESSIONS = 10_000;

describe('sign-ins in the audit trail', () => {
  let provider: StubProvider;
  let openId: OpenIdStub;

  beforeAll(async () => {
    [provider, openId] = await Promise.all([StubProvider.start(), OpenIdStub.start()]);
  });
  afterAll(() => Promise.all([provider?.close(), openId?.close()]));
  const service = use(() =>
    startTestService({
      ...providersEnv({
        stub: { url: provider.url, claims: 'roles=claims.roles' },
        corp: { url: openId.url, adapter: 'oidc', nonce: 'off' },
      }),
      REDIRECT_URIS: REDIRECT_URI,
      DEMO_ENABLED: 'false',
    }),
  );
  beforeEach(() => provider.reset());

  const during = (count: number, work: () => Promise<unknown>) => eventsOf(service.databaseUrl, count, work);
  const post = (path: string, body: object): request.Test => asBrowser(service.url).post(path, body);
  const signIn = async (body: object, name = 'stub'): Promise<request.Response> => {
    const { state } = await authorization(service.url, { provider: name });
    return post('/oauth2/token', { code: 'ada', state, ...body });
  };
  const rowsOf = (columns: string, userId: string): Promise<Record<string, unknown>[]> =>
    query(service.databaseUrl, `SELECT ${columns} WHERE user_id = $1`, [userId]);

  it('a sign-in has user, session, device, provider and where it came from, as session and device have', async () => {
    const device_id = randomUUID();
    let tokens: Tokens | undefined;
    const events = await during(1, async () => {
      tokens = (await signIn({ device_id })).body as Tokens;
    });
    const userId = deriveUserId('stub', 'ada');
    const { sid } = claimsOf(tokens!.access_token);
    expect(events).toEqual([
      {
        event: 'sign_in',
        result: 'ok',
        reason: 'first sign-in',
        new_device: true,
        new_network: true,
        user_id: userId,
        session_id: sid,
        device_id,
        provider: 'stub',
        provider_user_id: 'ada',
        actor: { type: 'user', name: userId },
        ...HERE,
      },
    ]);
    const { address, user_agent } = HERE;
    expect(await rowsOf('address, user_agent, auth_time FROM refresh_tokens', userId)).toEqual([
      { address, user_agent, auth_time: null },
    ]);
    expect(await rowsOf('address, user_agent FROM devices', userId)).toEqual([{ address, user_agent }]);
    expect(await rowsOf('word FROM user_words', userId)).toEqual([{ word: 'ADA' }]);
    const named = await signIn({ device_id, user_agent: 'What the\u001b\r\nclient says' });
    expect(named.status).toBe(200);
    expect((await storedEvents(service.databaseUrl)).at(-1)).toMatchObject({
      user_agent: 'What the client says',
    });
  });

  it('the session has the time of the authentication that an OpenID provider reports', async () => {
    openId.claims = { auth_time: 1_700_000_000 };
    const { body } = await signIn({ code: 'bo' }, 'corp');
    const { user_id: userId } = body as Tokens;
    expect(await rowsOf('auth_time FROM refresh_tokens', userId)).toEqual([
      { auth_time: new Date(1_700_000_000_000) },
    ]);
  });

  it('is stored with the sign-in or not at all', async () => {
    const fails = `ALTER TABLE audit_events ADD CONSTRAINT fails CHECK (event <> 'sign_in') NOT VALID`;
    await query(service.databaseUrl, fails);
    const [refusal] = await during(1, async () => {
      const { status } = await signIn({ code: 'nobody' });
      await query(service.databaseUrl, 'ALTER TABLE audit_events DROP CONSTRAINT fails');
      expect(status).toBe(500);
    });
    expect(refusal).toMatchObject({ event: 'sign_in_refused', error: 'server_error' });
    const userId = deriveUserId('stub', 'nobody');
    expect(await rowsOf('user_id FROM users', userId)).toEqual([]);
    expect(await rowsOf('event FROM audit_events', userId)).toEqual([{ event: 'sign_in_refused' }]);
  });

  const refused = { event: 'sign_in_refused', result: 'refused', actor: { type: 'user' }, ...HERE };

  it('a refused redirect URI has its value, without query and fragment, in both flows', async () => {
    const bad = 'https://app.example/wrong\u001b[31m?code=a-code';
    const events = await during(3, async () => {
      const { get } = asBrowser(service.url);
      const asked = { provider: 'stub', redirect_uri: bad };
      await get('/oauth2/authorize').query(asked).expect(400);
      await get('/oauth2/authorize').query(new StockClient(bad).authorizationRequest()).expect(400);
      const state = await beginSignIn(service.url, { redirect_uri: REDIRECT_URI });
      await post('/oauth2/token', { code: 'ada', state, redirect_uri: 'com.else:/cb#code=a-code' }).expect(
        401,
      );
    });
    const reason = 'redirect_uri is not on the list: https://app.example/wrong [31m';
    expect(events).toEqual([
      { ...refused, error: 'invalid_request', reason, provider: 'stub' },
      { ...refused, error: 'invalid_request', reason },
      {
        ...refused,
        error: 'invalid_grant',
        reason: 'redirect_uri differs from the one of the authorization request: com.else:/cb',
        provider: 'stub',
      },
    ]);
  });

  it('an exchange that the provider refuses has its own words, without the code', async () => {
    const events = await during(3, async () => {
      const description = 'c0de-of-ada has expired\nlong ago';
      provider.answerWith(400, { error: 'invalid_grant', error_description: description });
      await signIn({ code: 'c0de-of-ada' });
      provider.answerWith(503, 'maintenance');
      await signIn({});
      await post('/oauth2/token', { code: 'ada', state: 'ab'.repeat(32) }).expect(401);
    });
    expect(events).toEqual([
      {
        ...refused,
        error: 'invalid_grant',
        reason: 'invalid_grant (*** has expired long ago), HTTP 400',
        provider: 'stub',
      },
      {
        ...refused,
        error: 'server_error',
        reason: 'the provider answered with something that is not JSON, HTTP 503',
        provider: 'stub',
      },
      { ...refused, error: 'invalid_grant', reason: 'state is unknown, used or expired' },
    ]);
  });

  it('an error of the callback has the provider’s words: reported by the client, or received for a stock client', async () => {
    const events = await during(4, async () => {
      const state = await beginSignIn(service.url);
      const error_description = `The user\u0007said no to ${state}`;
      await post('/oauth2/callback-error', { state, error: 'access_denied', error_description }).expect(204);
      await post('/oauth2/callback-error', { state: await beginSignIn(service.url), error: 'cancelled' });
      for (const error of ['access_denied', 'invalid_scope']) {
        const begun = await new StockClient().authorize(service.url, { provider: 'stub' });
        const back = returnWith(service.url, begun, { error, error_description: 'not today' });
        await back.set('User-Agent', HERE.user_agent).expect(302);
      }
    });
    expect(events).toEqual([
      { ...refused, error: 'access_denied', reason: 'The user said no to ***', provider: 'stub' },
      { ...refused, error: 'cancelled', provider: 'stub' },
      { ...refused, error: 'access_denied', reason: 'access_denied (not today)', provider: 'stub' },
      { ...refused, error: 'server_error', reason: 'invalid_scope (not today)', provider: 'stub' },
    ]);
  });

  it.each([
    ['cancelled', 0],
    ['login_required', 0],
    ['interaction_required', 0],
    ['consent_required', 0],
    ['account_selection_required', 0],
    ['temporarily_unavailable', 0],
    ['invalid_scope', 1],
  ])(
    'that ends with %s: reported, and for a stock client: each blames a setting %i times',
    async (error, count) => {
      const warnings = (): number => service.log.filter((line) => line.includes('; look at ')).length;
      const state = await beginSignIn(service.url);
      const begun = await new StockClient().authorize(service.url, { provider: 'stub' });
      const before = warnings();
      const events = await during(2, async () => {
        await post('/oauth2/callback-error', { state, error }).expect(204);
        expect(warnings() - before).toBe(count);
        await returnWith(service.url, begun, { error }).expect(302);
      });
      expect(events).toHaveLength(2);
      const isOfClient = error === 'cancelled'; // no code of a provider
      expect(warnings() - before).toBe(isOfClient ? 1 : 2 * count);
    },
  );

  it('a stock client that does it wrong, and one that signs in', async () => {
    const client = new StockClient();
    const events = await during(4, async () => {
      const { get } = asBrowser(service.url);
      const begin = (more: object) =>
        get('/oauth2/authorize').query(client.authorizationRequest({ ...more }));
      await begin({ provider: 'stub', code_challenge: undefined }).expect(302);
      await begin({ provider: 'nowhere' }).expect(302);
      const begun = await begin({ provider: 'stub' }).expect(302);
      const { code } = answerIn(await returnWith(service.url, begun, { code: 'ada' }).expect(302));
      await post('/oauth2/token', client.tokenRequest(code!)).expect(200);
      await post('/oauth2/token', client.tokenRequest(code!)).expect(401);
    });
    const challenge = 'code_challenge with code_challenge_method=S256 is required';
    const reasons = [challenge, 'provider is unknown or disabled', 'the code is unknown, used or expired'];
    const refusals = reasons.map((reason, i) => {
      const error = i < 2 ? 'invalid_request' : 'invalid_grant';
      return { ...refused, error, reason };
    });
    const signedIn = expect.objectContaining({ event: 'sign_in', provider_user_id: 'ada', ...HERE });
    expect(events).toEqual(expect.arrayContaining([signedIn, ...refusals])); // refusals are stored a moment later
  });

  it('a suspended user is refused by name, and nothing is written', async () => {
    provider.claims.set('eve', { roles: ['a'] });
    const device_id = randomUUID();
    const { body } = await signIn({ code: 'eve', device_id });
    const { user_id } = body as Tokens;
    await query(service.databaseUrl, 'UPDATE users SET suspended_at = now() WHERE user_id = $1', [user_id]);
    const state = (): Promise<Record<string, unknown>[][]> =>
      Promise.all(
        ['users', 'devices', 'refresh_tokens', 'channel_events'].map((table) =>
          rowsOf(`* FROM ${table}`, user_id),
        ),
      );
    const before = await state();
    provider.claims.set('eve', { roles: ['b'] });
    const events = await during(1, async () => {
      expect(await signIn({ code: 'eve', device_id })).toMatchObject({
        status: 403,
        body: { error: 'access_denied', error_description: 'the user is suspended' },
      });
    });
    expect(events).toEqual([
      {
        ...refused,
        error: 'access_denied',
        reason: 'suspended',
        provider: 'stub',
        provider_user_id: 'eve',
        user_id,
        device_id,
        actor: { type: 'user', name: user_id },
      },
    ]);
    expect(await state()).toEqual(before);
    await query(service.databaseUrl, 'UPDATE users SET suspended_at = NULL WHERE user_id = $1', [user_id]);
    expect((await signIn({ code: 'eve', device_id })).status).toBe(200);
  });

  it('a change of the provider’s claims is of the provider', async () => {
    provider.claims.set('fay', { roles: ['a'] });
    const { body } = await signIn({ code: 'fay' });
    const { user_id } = body as Tokens;
    provider.claims.set('fay', { roles: ['b'] });
    const [changed, signedIn] = await during(2, () => signIn({ code: 'fay' }));
    expect(changed).toEqual({
      event: 'claims_changed',
      result: 'ok',
      changes: { source: 'provider', added: { roles: ['b'] }, removed: { roles: ['a'] } },
      user_id,
      provider: 'stub',
      actor: { type: 'provider', name: 'stub' },
      ...HERE,
    });
    expect(signedIn).toMatchObject({ event: 'sign_in' });
  });

  it('a user with the most sessions is refused by name', async () => {
    const { body } = await signIn({ code: 'gus' });
    const { user_id } = body as Tokens;
    await query(
      service.databaseUrl,
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), '', now() + interval '1 day' FROM generate_series(1, $2)`,
      [user_id, MAX_SESSIONS],
    );
    const [event] = await during(1, () => signIn({ code: 'gus' }));
    expect(event).toMatchObject({ error: 'slow_down', user_id, provider_user_id: 'gus' });
  });
});
