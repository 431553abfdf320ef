import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { startTestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

/** Identities of several providers for one person (docs/guides/linking.md), on two instances. */
describe('an identity of another provider', () => {
  const { corp, hub, here, settings, sql } = useLinked((_corp, forge) => ({
    ...forge.env('FORGE'),
    PROVIDERS_CORP_LINKS: 'hub, forge',
  }));
  const there = use(() => here.another());

  const newName = (): string => `user-${randomUUID()}`;
  const identitiesOf = async ({ access_token }: Tokens) =>
    (await bearer(here.url, access_token).get('/me/identities').expect(200)).body as {
      identities: object[];
    };

  it('is joined, listed, and signs the same user in, with the claims of the own identity', async () => {
    const [ada, octo] = [newName(), newName()];
    corp.claims.set(ada, { roles: ['engineer'] });
    hub.claims.set(octo, { roles: ['admin'] });
    const own = await tokensAt(here, 'corp', ada);
    const { status, body } = await link(here, own, 'hub', octo);
    expect([status, body]).toEqual([
      200,
      { provider: 'hub', username: 'Ada', email: null, linked_at: expect.any(String), primary: false },
    ]);
    expect((await identitiesOf(own)).identities).toEqual([
      { provider: 'corp', username: 'Ada', email: null, linked_at: null, primary: true },
      body,
    ]);
    for (const instance of [here, there]) {
      const other = await tokensAt(instance, 'hub', octo);
      expect(other.user_id).toBe(own.user_id);
      expect(claimsOf(other.access_token)).toMatchObject({ roles: ['engineer'] });
      await bearer(there.url, other.access_token).get('/me').expect(200);
    }
    const text = `SELECT event, provider FROM audit_events WHERE user_id = $1 ORDER BY at`;
    expect(await sql(text, own.user_id)).toEqual([
      { event: 'sign_in', provider: 'corp' },
      { event: 'identity_linked', provider: 'hub' },
      { event: 'sign_in', provider: 'hub' },
      { event: 'sign_in', provider: 'hub' },
    ]);
  });

  it('is joined once: again nothing changes, and nobody else can', async () => {
    const octo = newName();
    const own = await tokensAt(here, 'corp', newName());
    const first = await link(here, own, 'hub', octo);
    expect(await link(here, own, 'hub', octo)).toMatchObject({ status: 200, body: first.body });
    const other = await tokensAt(here, 'corp', newName());
    const { status, body } = await link(here, other, 'hub', octo);
    expect([status, body]).toEqual([
      409,
      { error: 'identity_in_use', error_description: expect.any(String) },
    ]);
    const second = await link(here, own, 'hub', newName());
    expect([second.status, second.body]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_request' }),
    ]);
  });

  it('of one person, joined by two users at once on two instances, is of one of them', async () => {
    const octo = newName();
    const [one, two] = [await tokensAt(here, 'corp', newName()), await tokensAt(here, 'corp', newName())];
    const answers = await Promise.all([link(here, one, 'hub', octo), link(there, two, 'hub', octo)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const winner = answers[0].status === 200 ? one : two;
    expect((await tokensAt(here, 'hub', octo)).user_id).toBe(winner.user_id);
  });

  it('is parted: its sessions end, and the next sign-in is a user of its own', async () => {
    const octo = newName();
    const own = await tokensAt(here, 'corp', newName());
    await link(here, own, 'hub', octo);
    const other = await tokensAt(there, 'hub', octo);
    await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(204);
    await bearer(here.url, own.access_token).get('/me').expect(200);
    await bearer(there.url, other.access_token).get('/me').expect(401);
    await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(404);
    expect((await tokensAt(here, 'hub', octo)).user_id).toBe(deriveUserId('hub', octo));
  });

  it('is not the own one, which stays, nor of a provider that `links` does not name', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const caller = bearer(here.url, own.access_token);
    await caller.delete('/me/identities/corp').expect(403);
    await caller.post('/me/identities', { provider: 'corp' }).expect(403);
    const ofHub = await tokensAt(here, 'hub', newName());
    await bearer(here.url, ofHub.access_token).post('/me/identities', { provider: 'forge' }).expect(403);
  });

  it('has a state for its user and session alone, and takes no other', async () => {
    const ada = newName();
    const own = await tokensAt(here, 'corp', ada);
    const second = await tokensAt(here, 'corp', ada);
    const caller = bearer(here.url, own.access_token);
    const begin = async () =>
      ((await caller.post('/me/identities', { provider: 'hub' }).expect(200)).body as { state: string })
        .state;
    const state = await begin();
    await bearer(here.url, second.access_token)
      .post('/me/identities/complete', { code: newName(), state })
      .expect(401);
    await request(here.url).post('/oauth2/token').send({ code: newName(), state }).expect(401);
    const ofSignIn = (await request(here.url).get('/oauth2/authorize').query({ provider: 'hub' })).body as {
      state: string;
    };
    await caller.post('/me/identities/complete', { code: newName(), state: ofSignIn.state }).expect(401);
    await caller.post('/me/identities/complete', { code: newName(), state }).expect(200);
    await caller.post('/me/identities/complete', { code: newName(), state }).expect(401);
  });

  it('needs a session that has just begun, by the own identity', async () => {
    const octo = newName();
    const own = await tokensAt(here, 'corp', newName());
    await link(here, own, 'hub', octo);
    const other = await tokensAt(here, 'hub', octo);
    await bearer(here.url, other.access_token).post('/me/identities', { provider: 'forge' }).expect(403);
    await sql(
      `UPDATE refresh_tokens SET created_at = now() - interval '301 s' WHERE user_id = $1`,
      own.user_id,
    );
    const refused = await bearer(here.url, own.access_token).post('/me/identities', { provider: 'forge' });
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      401,
      'Bearer error="insufficient_user_authentication", max_age="300"',
    ]);
    await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(401);
    // The provider's clock is ahead.
    await sql(`UPDATE refresh_tokens SET auth_time = now() + interval '1 d' WHERE user_id = $1`, own.user_id);
    await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(401);
  });

  it('signs nobody in once the user has not for REFRESH_TOKEN_TTL, is suspended, or `links` names it no more', async () => {
    const octo = newName();
    const own = await tokensAt(here, 'corp', newName());
    await link(here, own, 'hub', octo);
    const none = await startTestService({
      ...settings(),
      PROVIDERS_CORP_LINKS: 'forge',
      DATABASE_URL: here.databaseUrl,
    });
    try {
      expect(await signInAt(none, 'hub', octo)).toMatchObject({ status: 403 });
    } finally {
      await none.close();
    }
    await sql(`UPDATE users SET suspended_at = now() WHERE user_id = $1`, own.user_id);
    expect(await signInAt(here, 'hub', octo)).toMatchObject({
      status: 403,
      body: { error: 'access_denied' },
    });
    await sql(`UPDATE users SET suspended_at = NULL WHERE user_id = $1`, own.user_id);
    expect(await signInAt(here, 'hub', octo)).toMatchObject({ status: 200 });
    const ago = `now() - interval '31 days'`;
    await sql(`UPDATE refresh_tokens SET created_at = ${ago} WHERE user_id = $1`, own.user_id);
    await sql(`UPDATE audit_events SET at = ${ago} WHERE user_id = $1 AND provider = 'corp'`, own.user_id);
    expect(await signInAt(here, 'hub', octo)).toMatchObject({
      status: 403,
      body: { error: 'access_denied' },
    });
  });

  it('is refused by an instance without the feature', async () => {
    const octo = newName();
    const own = await tokensAt(here, 'corp', newName());
    await link(here, own, 'hub', octo);
    const { PROVIDERS_CORP_LINKS: _links, ...others } = settings();
    const without = await startTestService({ ...others, DATABASE_URL: here.databaseUrl });
    try {
      expect(await signInAt(without, 'hub', octo)).toMatchObject({ status: 403 });
      expect((await tokensAt(here, 'hub', octo)).user_id).toBe(own.user_id);
    } finally {
      await without.close();
    }
  });
});
