import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { query } from '../support/database.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { until } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

/** The setting `allow` (docs/guides/access-policy.md#conditions), on two instances. */
describe('a provider with allow', () => {
  let user: string;

  const { provider, here, there } = useInstances({
    REDIRECT_URIS: `${REDIRECT_URI},http://127.0.0.1/cb`,
    PROVIDERS_STUB_ALLOW: 'claim:groups=staff, email_domain=corp.example&claim:plan',
  });
  beforeEach(() => {
    user = randomUUID();
    provider.reset();
  });

  const exchange = async (): Promise<request.Response> => {
    const state = await beginSignIn(here.url);
    const response = await request(here.url).post('/oauth2/token').send({ code: user, state });
    const again = await request(here.url).post('/oauth2/token').send({ code: user, state });
    expect(again.body).toMatchObject({ error: 'invalid_grant' }); // the state is consumed
    return response;
  };
  const refusals = (): Promise<unknown[]> =>
    query(
      here.databaseUrl,
      `SELECT error, reason, provider, provider_user_id FROM audit_events
       WHERE event = 'sign_in_refused' AND error = 'access_denied' AND user_id = $1`,
      [deriveUserId('stub', user)],
    );
  const usersOf = (): Promise<unknown[]> =>
    query(here.databaseUrl, 'SELECT claims FROM users WHERE provider_user_id = $1', [user]);

  it('admits a user by one of its conditions', async () => {
    provider.claims.set(user, { groups: ['math', 'staff'] });
    expect((await exchange()).status).toBe(200);
  });

  it('trusts the addresses of a provider of the contract', async () => {
    const identity = { provider_user_id: user, email: 'ada@corp.example', claims: { plan: 'gold' } };
    provider.answerWith(200, identity);
    expect((await exchange()).status).toBe(200);
    provider.answerWith(200, { ...identity, email_verified: false });
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
  });

  it('refuses others, stores no user, and records whom and why', async () => {
    provider.claims.set(user, { groups: ['Staff'] });
    const { status, body } = await exchange();
    expect([status, body]).toEqual([
      403,
      { error: 'access_denied', error_description: 'this account may not sign in' },
    ]);
    expect(await usersOf()).toEqual([]);
    await until(async () => (await refusals()).length > 0);
    expect(await refusals()).toEqual([
      { error: 'access_denied', reason: 'claim', provider: 'stub', provider_user_id: user },
    ]);
  });

  it('ends the sessions of a user who is allowed no more, on every instance, and keeps the claims', async () => {
    provider.claims.set(user, { groups: ['staff'] });
    const session = await signIn(there.url, user, { device_id: randomUUID() });
    const socket = await SocketClient.connect(there.url, session.access_token);
    const before = await usersOf();
    provider.claims.set(user, { groups: [] });
    expect((await exchange()).status).toBe(403);
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'not_allowed' });
    expect((await bearer(there.url, session.access_token).get('/me')).status).toBe(401);
    const { refresh_token } = session;
    const refreshed = await request(there.url).post('/oauth2/refresh').send({ refresh_token });
    expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
    expect(await usersOf()).toEqual(before);
  });

  it('takes the code of a stock client back that waits while the user is refused', async () => {
    provider.claims.set(user, { groups: ['staff'] });
    const client = new StockClient();
    const code = await client.codeFrom(here.url, { code: user });
    provider.claims.set(user, { groups: [] });
    expect((await exchange()).status).toBe(403);
    const { body } = await client.token(there.url, code);
    expect(body).toMatchObject({ error: 'invalid_grant' });
  });

  it('tells a stock client of a suspended user at its callback', async () => {
    provider.claims.set(user, { groups: ['staff'] });
    const { user_id } = await signIn(here.url, user);
    await query(here.databaseUrl, 'UPDATE users SET suspended_at = now() WHERE user_id = $1', [user_id]);
    const begun = await new StockClient().authorize(here.url, { provider: 'stub' }).expect(302);
    const answer = answerIn(await returnWith(there.url, begun, { code: user }).expect(302));
    expect(answer).toMatchObject({ error: 'access_denied' });
    await until(async () => (await refusals()).length > 0);
    expect(await refusals()).toMatchObject([{ error: 'access_denied', reason: 'suspended' }]);
  });

  it('tells a stock client at its callback', async () => {
    const begun = await new StockClient().authorize(here.url, { provider: 'stub' }).expect(302);
    const answer = answerIn(await returnWith(there.url, begun, { code: user }).expect(302));
    expect(answer).toMatchObject({ error: 'access_denied' });
    await until(async () => (await refusals()).length > 0);
    expect((await refusals()).length).toBe(1);
  });
});
