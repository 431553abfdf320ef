import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY, type TestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

const OF_CORP = 'a-token-of-the-directory-of-corp-with-enough-characters';
const OF_HUB = 'a-token-of-the-directory-of-hub-with-enough-characters';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** Ada signs in by corp, or by the account at hub that is joined. */
interface Person {
  readonly ada: string;
  readonly octo: string;
  readonly own: Tokens;
  readonly other: Tokens;
}

/** The rules of both providers hold at both doors (docs/guides/linking.md#what-is-checked-at-a-sign-in). */
describe('a user with a joined identity', () => {
  const admission = use(() => WebhookReceiver.start());
  const { corp, hub, here, sql, isLive } = useLinked(() => ({
    PROVIDERS_CORP_SCIM_TOKEN: OF_CORP,
    PROVIDERS_HUB_SCIM_TOKEN: OF_HUB,
    ADMIN_ROLE: 'boss',
    DEVICE_GRANT: 'on',
  }));
  /** Instances with other settings. */
  const strict = use(() => here.another({ PROVIDERS_CORP_ALLOW: 'claim:groups=staff' }));
  const strictHub = use(() => here.another({ PROVIDERS_HUB_ALLOW: 'claim:groups=staff' }));
  const asking = use(() => here.another({ ADMISSION_URL: admission.url, ADMISSION_SECRET: WEBHOOK_SECRET }));
  const few = use(() => here.another({ MAX_SESSIONS: '2', SESSION_IDLE_TTL: '300' }));

  const admin = () => bearer(here.url, SERVICE_KEY);
  const statusAt = async (at: TestService, provider: string, code: string): Promise<number> =>
    (await signInAt(at, provider, code)).status;
  /** Since the last sign-in by corp. */
  const ago = (days: number, userId: string) =>
    Promise.all([
      sql(
        `UPDATE refresh_tokens SET created_at = now() - $2::interval WHERE user_id = $1`,
        userId,
        `${days} d`,
      ),
      sql(
        `UPDATE audit_events SET at = now() - $2::interval WHERE user_id = $1 AND provider = 'corp'`,
        userId,
        `${days} d`,
      ),
    ]);

  async function person(
    groups: readonly string[] = ['staff'],
    octo = `octo-${randomUUID()}`,
  ): Promise<Person> {
    const ada = octo.replace('octo', 'ada');
    for (const [stub, name] of [
      [corp, ada],
      [hub, octo],
    ] as const)
      stub.claims.set(name, { groups });
    const own = await tokensAt(here, 'corp', ada);
    expect(await link(here, own, 'hub', octo)).toMatchObject({ status: 200 });
    return { ada, octo, own, other: await tokensAt(here, 'hub', octo) };
  }
  const deactivate = async (provider: string, token: string, name: string): Promise<void> => {
    const directory = new DirectoryClient(here, provider, token);
    const id = await directory.create('/Users', { userName: name, externalId: name, active: true });
    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }).expect(200);
  };

  it.each<
    [string, (one: Person) => PromiseLike<unknown>, [boolean, boolean, number, number], () => TestService]
  >([
    ['nothing', async () => undefined, [true, true, 200, 200], () => here],
    [
      'an operator suspends the user',
      ({ own }) => admin().patch(`/users/${own.user_id}`, { suspended: true }).expect(200),
      [false, false, 403, 403],
      () => here,
    ],
    [
      'the directory of the own provider deactivates the user',
      ({ ada }) => deactivate('corp', OF_CORP, ada),
      [false, false, 403, 403],
      () => here,
    ],
    [
      'the directory of the other provider deactivates its account',
      ({ octo }) => deactivate('hub', OF_HUB, octo),
      [true, false, 200, 403],
      () => here,
    ],
    [
      'allow of the own provider does not cover the last identity',
      async ({ ada, own }) => {
        corp.claims.set(ada, { groups: [] });
        await tokensAt(here, 'corp', ada);
        expect(own.user_id).toBe(deriveUserId('corp', ada));
      },
      [true, true, 403, 403],
      () => strict,
    ],
    [
      'allow of the own provider has refused a sign-in since',
      async ({ ada }) => {
        corp.claims.set(ada, { groups: [] });
        expect(await statusAt(strict, 'corp', ada)).toBe(403);
      },
      [false, false, 403, 403],
      () => strict,
    ],
    [
      'allow of the other provider does not cover its account',
      async ({ octo }) => {
        hub.claims.set(octo, { groups: [] });
        expect(await statusAt(strictHub, 'hub', octo)).toBe(403);
      },
      [true, false, 200, 403],
      () => strictHub,
    ],
  ])('%s', async (_what, happens, expected, at) => {
    const one = await person();
    await happens(one);
    const living = [await isLive(one.own), await isLive(one.other)];
    const byHub = await statusAt(at(), 'hub', one.octo); // first: a sign-in by corp could change what is known
    expect([...living, await statusAt(at(), 'corp', one.ada), byHub]).toEqual(expected);
  });

  it('is asked about at the admission service as both; either answer counts', async () => {
    const { ada, octo, own } = await person();
    const told: unknown[] = [];
    let refused = 'nobody';
    admission.answer = (response, { body: { data } }) => {
      told.push([data['provider'], data['provider_user_id'], data['user_id']]);
      response.end(JSON.stringify({ allow: data['provider_user_id'] !== refused, claims: {} }));
    };
    expect(await statusAt(asking, 'hub', octo)).toBe(200);
    const asHub = ['hub', octo, deriveUserId('hub', octo)];
    expect(told).toEqual([asHub, ['corp', ada, own.user_id]]);
    for (refused of [ada, octo]) expect(await statusAt(asking, 'hub', octo)).toBe(403);
  });

  it('has no rights of the administration in a session of the joined identity', async () => {
    const [ada, octo] = [`ada-${randomUUID()}`, `octo-${randomUUID()}`];
    corp.claims.set(ada, { roles: ['boss'] });
    const own = await tokensAt(here, 'corp', ada);
    await link(here, own, 'hub', octo);
    const other = await tokensAt(here, 'hub', octo);
    expect(claimsOf(other.access_token)).toMatchObject({ roles: ['boss'] });
    const seen = async ({ access_token }: Tokens) => {
      const caller = bearer(here.url, access_token);
      const { body } = await caller.get('/admin/session').expect(200);
      return [(body as { right: unknown }).right, (await caller.get('/users')).status];
    };
    expect([await seen(own), await seen(other)]).toEqual([
      ['users', 200],
      [null, 403],
    ]);
  });

  it('must have signed in by the own identity, whatever the ids at the providers are', async () => {
    const name = randomUUID(); // at both
    const { octo, own } = await person(['staff'], name);
    await ago(31, own.user_id);
    expect(await statusAt(here, 'hub', octo)).toBe(403);
    await tokensAt(here, 'corp', name);
    expect(await statusAt(here, 'hub', octo)).toBe(200);
  });

  it('is refused by either rule as the identity that was shown', async () => {
    const { octo, own } = await person();
    await ago(31, own.user_id);
    expect(await statusAt(here, 'hub', octo)).toBe(403);
    await ago(0, own.user_id);
    await sql(`UPDATE users SET sessions_ended_at = now() + interval '1 h' WHERE user_id = $1`, own.user_id);
    expect(await statusAt(here, 'hub', octo)).toBe(401);
    const refusals = `
      SELECT provider, provider_user_id, reason FROM audit_events
      WHERE user_id = $1 AND event = 'sign_in_refused' ORDER BY at`;
    await until(async () => (await sql(refusals, own.user_id)).length === 2);
    const shown = { provider: 'hub', provider_user_id: octo };
    expect(await sql(refusals, own.user_id)).toEqual([
      { ...shown, reason: 'own sign-in too long ago' },
      { ...shown, reason: 'signed_out' },
    ]);
  });

  describe('who approves another device', () => {
    const approved = async (by: Tokens): Promise<Tokens> => {
      const begun = await request(here.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
      const { user_code, device_code } = begun.body as { user_code: string; device_code: string };
      const decide = bearer(here.url, by.access_token);
      await decide.post(`/me/device-requests/${user_code}`).send({ approve: true }).expect(204);
      const poll = { grant_type: DEVICE_GRANT, device_code, client_id: 'cli' };
      return (await request(here.url).post('/oauth2/token').send(poll).expect(200)).body as Tokens;
    };

    it('by the joined identity: the device ends with it, and counts for no own sign-in', async () => {
      const { octo, own, other } = await person();
      await ago(31, own.user_id);
      await sql(
        `UPDATE refresh_tokens SET expires_at = now() + interval '1 h' WHERE user_id = $1`,
        own.user_id,
      );
      const device = await approved(other);
      expect(await statusAt(here, 'hub', octo)).toBe(403);
      await sql(
        `UPDATE refresh_tokens SET created_at = now() WHERE session_id = $1`,
        claimsOf(own.access_token)['sid'],
      );
      await bearer(here.url, own.access_token).delete('/me/identities/hub').expect(204);
      expect(await Promise.all([own, other, device].map(isLive))).toEqual([true, false, false]);
    });

    it('by the joined identity: what its provider said last stays', async () => {
      const [ada, octo] = [`ada-${randomUUID()}`, `octo-${randomUUID()}`];
      const own = await tokensAt(here, 'corp', ada);
      const profile = { username: 'Octo', email: 'octo@hub.example' };
      hub.answerWith(200, { provider_user_id: octo, ...profile });
      await link(here, own, 'hub', octo);
      const other = await tokensAt(here, 'hub', octo);
      hub.reset();
      await approved(other);
      const { body } = await bearer(here.url, own.access_token).get('/me/identities').expect(200);
      expect((body as { identities: unknown[] }).identities[1]).toMatchObject(profile);
    });

    it('by the own one: the device counts for no further own sign-in', async () => {
      const { octo, own } = await person();
      const device = claimsOf((await approved(own)).access_token)['sid'];
      await ago(40, own.user_id);
      await sql(`UPDATE refresh_tokens SET begun_at = created_at WHERE session_id = $1`, device);
      await sql(`UPDATE audit_events SET at = now() - interval '20 d' WHERE session_id = $1`, device);
      expect(await statusAt(here, 'hub', octo)).toBe(403);
    });

    it('by the own one: the device joins and parts nothing', async () => {
      const { own } = await person();
      const device = bearer(here.url, (await approved(own)).access_token);
      await device.get('/me/identities').expect(200);
      await device.post('/me/identities', { provider: 'hub' }).expect(403);
      await device.delete('/me/identities/hub').expect(403);
    });

    it('on the page, by the joined identity: that device approves no other', async () => {
      const { octo } = await person();
      const begun = await request(here.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
      const { user_code, device_code } = begun.body as { user_code: string; device_code: string };
      hub.signInAtOnce(() => octo);
      const entered = await request(here.url).post('/device').type('form').send({ user_code });
      const cookie = entered.headers['set-cookie']![0]!.split(';')[0]!;
      let address = entered.headers['refresh']!.slice('0; url='.length).concat('&provider=hub');
      for (let hops = 0; hops < 6 && address !== '/device/confirm'; hops++) {
        const { origin, pathname, search } = new URL(address, here.url);
        address = (
          await request(origin)
            .get(pathname + search)
            .set('Cookie', cookie)
        ).headers['location']!;
      }
      hub.reset();
      await request(here.url)
        .post('/device/confirm')
        .type('form')
        .set('Cookie', cookie)
        .send({ answer: 'yes' });
      const poll = { grant_type: DEVICE_GRANT, device_code, client_id: 'cli' };
      const { body } = await request(here.url).post('/oauth2/token').send(poll).expect(200);
      const second = await request(here.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
      const code = (second.body as { user_code: string }).user_code;
      const device = bearer(here.url, (body as Tokens).access_token);
      await device.post(`/me/device-requests/${code}`).send({ approve: true }).expect(403);
    });
  });

  it('has sessions of both doors under MAX_SESSIONS and SESSION_IDLE_TTL', async () => {
    const { ada, octo, own, other } = await person();
    // Less than a minute: else a use that is to be written would make it now.
    await sql(
      `UPDATE refresh_tokens SET last_used_at = now() - interval '50 s' WHERE session_id = $1`,
      claimsOf(other.access_token)['sid'],
    );
    const third = await tokensAt(few, 'hub', octo);
    expect(third).toMatchObject({ idle_expires_in: 300 });
    expect(await Promise.all([own, other, third].map(isLive))).toEqual([true, false, true]);
    await sql(
      `UPDATE refresh_tokens SET last_used_at = now() - interval '50 s' WHERE session_id = $1`,
      claimsOf(third.access_token)['sid'],
    );
    await tokensAt(few, 'corp', ada);
    expect(await Promise.all([own, third].map(isLive))).toEqual([true, false]);
  });
});
