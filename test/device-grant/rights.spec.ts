import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { RecentEnds } from '../../src/token/sessions/recent-ends.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use, useService } from '../support/use.js';

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface Begun {
  device_code: string;
  user_code: string;
}

/** Rights that were taken away stay away (docs/device-sign-in.md#the-session). */
describe('the rights of a session that was approved', () => {
  let user: string;

  const admission = use(() => WebhookReceiver.start());
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    DEVICE_GRANT: 'on',
    ADMISSION_URL: admission.url,
    ADMISSION_SECRET: WEBHOOK_SECRET,
    SERVICE_KEYS: SERVICE_KEY,
  }));
  beforeAll(() => provider.signInAtOnce(() => user));
  beforeEach(() => {
    user = randomUUID();
    admit({});
  });

  const admit = (claims: object): void => {
    admission.answer = (response) => void response.end(JSON.stringify({ allow: true, claims }));
  };
  const signInWith = (...roles: string[]): Promise<Tokens> => {
    provider.claims.set(user, { roles });
    return signIn(service.url, user);
  };
  const begin = async (): Promise<Begun> => {
    const answer = await request(service.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
    return answer.body as Begun;
  };
  const approve = ({ access_token }: Tokens, { user_code }: Begun) =>
    bearer(service.url, access_token).post(`/me/device-requests/${user_code}`).send({ approve: true });
  const poll = ({ device_code }: Begun) =>
    request(service.url).post('/oauth2/token').send({ grant_type: GRANT, device_code, client_id: 'cli' });
  const rolesOf = ({ access_token }: Tokens): unknown => claimsOf(access_token)['roles'];

  /** Enters the code on the page and signs in there. @returns the cookie, before the answer */
  async function signInOnPage({ user_code }: Begun): Promise<string> {
    const entered = await request(service.url).post('/device').type('form').send({ user_code }).expect(200);
    const cookie = entered.headers['set-cookie']![0]!.split(';')[0]!;
    let address = entered.headers['refresh']!.slice('0; url='.length);
    for (let hops = 0; hops < 6; hops++) {
      const url = new URL(address, service.url);
      const answer = await request(url.origin)
        .get(url.pathname + url.search)
        .set('Cookie', cookie);
      address = answer.headers['location']!;
      if (address === '/device/confirm') return cookie;
    }
    throw new Error(`${address} leads nowhere`);
  }
  const sayYes = (cookie: string) =>
    request(service.url).post('/device/confirm').type('form').set('Cookie', cookie).send({ answer: 'yes' });

  it('are those of now, not those of the approval', async () => {
    const approver = await signInWith('admin');
    const begun = await begin();
    await approve(approver, begun).expect(204);
    await signInWith('reader'); // the provider has taken the role away
    expect(rolesOf((await poll(begun).expect(200)).body as Tokens)).toEqual(['reader']);
  });

  it('are not those of a sign-in on the page before the last change', async () => {
    await signInWith('admin');
    const begun = await begin();
    const cookie = await signInOnPage(begun);
    const later = await signInWith('reader');
    await sayYes(cookie).expect(200);
    const refused = await poll(begun).expect(400);
    expect(refused.body).toMatchObject({ error: 'access_denied' });
    const refreshed = await request(service.url).post('/oauth2/refresh').send(later).expect(200);
    expect(rolesOf(refreshed.body as Tokens)).toEqual(['reader']);
    const text = `SELECT FROM audit_events WHERE reason = 'claims_changed' AND user_id = $1`;
    await until(async () => (await query(service.databaseUrl, text, [later.user_id])).length === 1);
  });

  it('are those of the sign-in on the page without another change', async () => {
    await signInWith('admin');
    const begun = await begin();
    provider.claims.set(user, { roles: ['reader'] });
    const cookie = await signInOnPage(begun);
    await sayYes(cookie).expect(200);
    expect(rolesOf((await poll(begun).expect(200)).body as Tokens)).toEqual(['reader']);
  });

  it('do not include the approval of other devices, also after a sign-in on the page', async () => {
    const begun = await begin();
    await sayYes(await signInOnPage(begun)).expect(200);
    const { body } = await poll(begun).expect(200);
    expect((await approve(body as Tokens, await begin()).expect(403)).body).toMatchObject({
      error: 'access_denied',
    });
  });

  it('have nothing that the admission service gave before and does not give now', async () => {
    admit({ roles: ['admin'] });
    const approver = await signInWith('reader');
    expect(rolesOf(approver)).toEqual(['admin']);
    const begun = await begin();
    await approve(approver, begun).expect(204);
    admit({});
    expect(rolesOf((await poll(begun).expect(200)).body as Tokens)).toBeUndefined();
  });

  it('are refused if the provider has logged the user out minutes before the answer', async () => {
    const begun = await begin();
    const cookie = await signInOnPage(begun);
    const sql = (text: string, ...values: unknown[]) => query(service.databaseUrl, text, values);
    // the stub names no subject
    await sql(`UPDATE device_confirmations SET identity = identity || $1`, { subject: user });
    const { manager } = service.app.get(DataSource);
    await service.app.get(RecentEnds).remember(manager, 'stub', { subject: user, session: null });
    // eight minutes pass, and rows that have expired are removed
    await sql(`UPDATE device_confirmations SET requested_at = requested_at - interval '8 minutes'`);
    await sql(`UPDATE logout_tokens SET expires_at = expires_at - interval '8 minutes'`);
    await sql(`DELETE FROM logout_tokens WHERE expires_at <= now()`);
    await sayYes(cookie).expect(200);
    expect((await poll(begun).expect(400)).body).toMatchObject({ error: 'access_denied' });
  });
});
