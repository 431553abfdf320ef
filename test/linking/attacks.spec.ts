import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DirectoryClient } from '../support/directory.js';
import { ClientKey } from '../support/dpop.js';
import { SERVICE_KEY, type TestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

const OF_HUB = 'a-token-of-the-directory-of-hub-with-enough-characters';
const MORE = ['forge', ...Array.from({ length: 11 }, (_, i) => `p${i}`)];
const ROUNDS = 6;

/** A caller with a part of what a joining needs gets nothing. */
describe('an attack on joined identities', () => {
  const { corp, hub, here, sql, isLive } = useLinked((_corp, others) => ({
    ...Object.assign({}, ...MORE.map((name) => others.env(name.toUpperCase()))),
    PROVIDERS_CORP_LINKS: ['hub', ...MORE].join(','),
    PROVIDERS_HUB_LINKS: ['corp', ...MORE].join(','),
    REDIRECT_URIS: 'https://app.example/cb',
    PROVIDERS_HUB_SCIM_TOKEN: OF_HUB,
    ADMIN_ROLE: 'boss',
    DEVICE_GRANT: 'on',
  }));
  const there = use(() => here.another());

  const newName = (): string => `user-${randomUUID()}`;
  const admin = () => bearer(here.url, SERVICE_KEY);
  const merge = ({ access_token }: Tokens, merge_token: string, at: TestService = here) =>
    bearer(at.url, access_token).post('/me/identities/merge', { merge_token });
  const mergeToken = async (own: Tokens, provider: string, name: string): Promise<string> => {
    const { status, body } = await link(here, own, provider, name);
    expect(status).toBe(409);
    return (body as { merge_token: string }).merge_token;
  };
  /** Ada, Octo, who is another user, and what makes him part of her. */
  async function pair() {
    const [ada, octo] = [newName(), newName()];
    const other = await tokensAt(here, 'hub', octo);
    const own = await tokensAt(here, 'corp', ada);
    return { ada, octo, own, other, token: await mergeToken(own, 'hub', octo) };
  }

  it('by the same e-mail address: nothing is joined by it', async () => {
    for (const [stub, name] of [
      [corp, newName()],
      [hub, newName()],
    ] as const) {
      stub.answerWith(200, { provider_user_id: name, username: 'Ada', email: 'ada@corp.example' });
    }
    const [own, other] = [await tokensAt(here, 'corp', 'code'), await tokensAt(here, 'hub', 'code')];
    corp.reset();
    hub.reset();
    expect(other.user_id).not.toBe(own.user_id);
    const { body } = await bearer(here.url, own.access_token).get('/me/identities').expect(200);
    expect((body as { identities: object[] }).identities).toHaveLength(1);
  });

  it('by the state of a joining elsewhere: it is good for its session and call alone, once', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const octo = newName();
    const caller = bearer(here.url, own.access_token);
    const { state } = (await caller.post('/me/identities', { provider: 'hub' }).expect(200)).body as {
      state: string;
    };
    const whole = `link ${own.user_id} ${String(claimsOf(own.access_token)['sid'])} ${state}`;
    const token = (body: object) =>
      request(here.url)
        .post('/oauth2/token')
        .send({ code: octo, ...body });
    for (const one of [state, whole]) expect([400, 401]).toContain((await token({ state: one })).status);
    const stranger = bearer(here.url, (await tokensAt(here, 'corp', newName())).access_token);
    for (const one of [state, whole]) {
      await stranger.post('/me/identities/complete', { code: octo, state: one }).expect(401);
    }
    const complete = (at: TestService) =>
      bearer(at.url, own.access_token).post('/me/identities/complete', { code: octo, state });
    const answers = await Promise.all([complete(here), complete(there)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    await caller
      .post('/me/identities', { provider: 'forge', redirect_uri: 'https://evil.example/' })
      .expect(400);
  });

  it.each<[string, (one: Awaited<ReturnType<typeof pair>>) => Promise<unknown>, number]>([
    [
      'of another session',
      async ({ ada, token }) => merge(await tokensAt(here, 'corp', ada), token).expect(401),
      401,
    ],
    ['after its time', () => sql(`UPDATE authorization_states SET expires_at = now() - interval '1 s'`), 401],
    [
      'after the own session has ended',
      async ({ own }) => bearer(here.url, own.access_token).post('/sign-out').expect(204),
      401,
    ],
    [
      'of one who has got rights since',
      async ({ octo }) => {
        hub.claims.set(octo, { roles: ['boss'] });
        await tokensAt(here, 'hub', octo);
      },
      403,
    ],
    [
      'of one whom a directory has got since',
      ({ octo }) =>
        new DirectoryClient(here, 'hub', OF_HUB).create('/Users', { userName: octo, externalId: octo }),
      403,
    ],
    [
      'of one who was removed since',
      async ({ other }) => admin().delete(`/users/${other.user_id}`).expect(204),
      401,
    ],
    [
      'of one who is part of a third since',
      async ({ octo }) => {
        const third = await tokensAt(here, 'corp', newName());
        await merge(third, await mergeToken(third, 'hub', octo)).expect(200);
      },
      401,
    ],
  ])('by a merge token %s', async (_which, happens, status) => {
    const one = await pair();
    await happens(one);
    const merged = `SELECT FROM users WHERE user_id = $1 AND merged_into = $2`;
    const { status: answered } = await merge(one.own, one.token);
    // An attempt in another session has spent nothing: the token still works in its own.
    expect(answered).toBe(status === 401 && _which === 'of another session' ? 200 : status);
    if (answered !== 200) expect(await sql(merged, one.other.user_id, one.own.user_id)).toEqual([]);
    if (status === 403) expect(await isLive(one.other)).toBe(true);
  });

  it('by two merges in a circle: one user is left, or both', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { ada, own, other, token } = await pair();
      const back = await mergeToken(other, 'corp', ada);
      const answers = await Promise.all([merge(own, token, here), merge(other, back, there)]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
      for (const status of statuses) expect([200, 401, 403]).toContain(status);
      const rows = await sql(`SELECT user_id, merged_into FROM users WHERE user_id = ANY ($1)`, [
        own.user_id,
        other.user_id,
      ]);
      expect(rows.filter((row) => row['merged_into'] !== null)).toHaveLength(statuses.includes(200) ? 1 : 0);
      const twice = `SELECT FROM users a JOIN users b ON b.user_id = a.merged_into WHERE b.merged_into IS NOT NULL`;
      expect(await sql(twice)).toEqual([]);
    }
  });

  it('by a chain: all former ids point at who is left', async () => {
    const forge = newName();
    const first = await tokensAt(here, 'forge', forge);
    const [ada, octo] = [newName(), newName()];
    const second = await tokensAt(here, 'hub', octo);
    await merge(second, await mergeToken(second, 'forge', forge)).expect(200);
    const own = await tokensAt(here, 'corp', ada);
    await merge(own, await mergeToken(own, 'hub', octo)).expect(200);
    for (const { user_id } of [first, second]) {
      const { body } = await admin().get(`/users/${user_id}`).expect(404);
      expect(body).toMatchObject({ merged_into: own.user_id });
    }
    expect((await tokensAt(there, 'forge', forge)).user_id).toBe(own.user_id);
  });

  it('by parting: the next user of the account has nothing of the former ones', async () => {
    const { octo, own, other, token } = await pair();
    for (const { user_id } of [own, other]) {
      await admin()
        .put(`/users/${user_id}/claims`, { claims: { plan: 'gold' } })
        .expect(200);
    }
    await merge(own, token).expect(200);
    const asOwn = await tokensAt(here, 'hub', octo, { device_id: randomUUID() });
    await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(204);
    // The provider has given the id to another person, who joins it.
    const next = await tokensAt(here, 'hub', octo);
    expect([next.user_id, claimsOf(next.access_token)['plan']]).toEqual([
      deriveUserId('hub', octo),
      undefined,
    ]);
    const { body } = await bearer(here.url, next.access_token).get('/devices').expect(200);
    expect((body as { devices: object[] }).devices).toEqual([]);
    const second = await tokensAt(here, 'corp', newName());
    await merge(second, await mergeToken(second, 'hub', octo)).expect(200);
    expect((await tokensAt(here, 'hub', octo)).user_id).toBe(second.user_id);
    const { refresh_token } = asOwn;
    await request(here.url).post('/oauth2/refresh').send({ refresh_token }).expect(401);
    const { body: left } = await bearer(here.url, own.access_token).get('/me/identities').expect(200);
    expect((left as { identities: object[] }).identities).toHaveLength(1);
  });

  it('by many identities: there are ten, also after a merge', async () => {
    const [own, other] = [await tokensAt(here, 'corp', newName()), newName()];
    const full = await tokensAt(here, 'hub', other);
    for (const provider of MORE.slice(0, 10)) {
      expect(await link(here, full, provider, newName())).toMatchObject({ status: 200 });
    }
    expect(await link(here, full, MORE[10]!, newName())).toMatchObject({ status: 400 });
    await merge(own, await mergeToken(own, 'hub', other)).expect(400);
    expect(await isLive(full)).toBe(true);
    await bearer(here.url, full.access_token).delete('/me/identities/p0').expect(204);
    await merge(own, await mergeToken(own, 'hub', other)).expect(200);
  });

  it('by a stolen access token: a bound session needs a proof for each change', async () => {
    const key = new ClientKey();
    const begun = await request(here.url).get('/oauth2/authorize').query({ provider: 'corp' });
    const { state } = begun.body as { state: string };
    const proof = (path: string, htm = 'POST') => key.proof(`${here.url}${path}`, { claims: { htm } });
    const exchange = request(here.url).post('/oauth2/token').set('DPoP', proof('/oauth2/token'));
    const own = (await exchange.send({ code: newName(), state }).expect(200)).body as Tokens;
    const caller = bearer(here.url, own.access_token);
    const refused = [
      await caller.post('/me/identities', { provider: 'hub' }),
      await caller.post('/me/identities/complete', { code: 'x', state }),
      await caller.post('/me/identities/merge', { merge_token: 'x' }),
      await caller.delete('/me/identities/hub'),
      await caller
        .post('/me/identities', { provider: 'hub' })
        .set('DPoP', new ClientKey().proof(`${here.url}/me/identities`)),
    ];
    expect(refused.map(({ body }) => (body as { error: string }).error)).toEqual(
      Array.from({ length: 5 }, () => 'invalid_dpop_proof'),
    );
    await caller.post('/me/identities', { provider: 'hub' }).set('DPoP', proof('/me/identities')).expect(200);
    await caller.delete('/me/identities/hub').set('DPoP', proof('/me/identities/hub', 'DELETE')).expect(404);
  });

  it('by what waits to become a session of a former user', async () => {
    const { own, other, token } = await pair();
    const begun = await request(here.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
    const { user_code, device_code } = begun.body as { user_code: string; device_code: string };
    const decide = bearer(here.url, other.access_token);
    await decide.post(`/me/device-requests/${user_code}`).send({ approve: true }).expect(204);
    const state = (
      (await request(here.url).get('/oauth2/authorize').query({ provider: 'hub' })).body as { state: string }
    ).state;
    await merge(own, token).expect(200);
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const poll = request(here.url).post('/oauth2/token').send({ grant_type, device_code, client_id: 'cli' });
    expect((await poll).body).toMatchObject({ error: 'access_denied' });
    expect(state).toEqual(expect.any(String));
  });

  it('on privacy: a removal forgets what the trail has of former ids', async () => {
    const { octo, own, other, token } = await pair();
    await merge(own, token).expect(200);
    await admin().delete(`/users/${own.user_id}`).expect(204);
    const kept = `SELECT event, provider_user_id, address, actor_type FROM audit_events WHERE user_id = $1 AND (provider_user_id IS NOT NULL OR address IS NOT NULL)`;
    expect(await sql(kept, other.user_id)).toEqual([]);
    const words = `SELECT FROM user_words WHERE user_id = ANY ($1)`;
    expect(await sql(words, [own.user_id, other.user_id])).toEqual([]);
    expect((await signInAt(here, 'hub', octo)).status).toBe(200);
  });
});
