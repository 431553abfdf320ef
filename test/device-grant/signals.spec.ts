import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { caep, push, seconds, Transmitter } from '../provider-events/transmitter.js';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { bearer, type Tokens } from '../support/sign-in.js';

/** A signal may come late: its time is before the approval, and after the sign-in that the approval rests on. */
describe('a session that was approved', () => {
  const endings = new Endings();
  afterAll(() => endings.run());

  it.each([
    ['that the provider ends', () => undefined],
    [
      'that was signed out before',
      (url: string, { access_token }: Tokens) => bearer(url, access_token).post('/sign-out').expect(204),
    ],
  ])('ends with a session %s', async (_which, before) => {
    const transmitter = endings.after(await Transmitter.start(), (one) => one.close());
    const env = transmitter.env({ DEVICE_GRANT: 'on', PROVIDERS_MOCK_ENABLED: 'false' });
    const service = endings.after(await startTestService(env), (one) => one.close());
    const subject = `user-${randomUUID()}`;
    const approver = await transmitter.signIn(new Person(subject), service);
    const ago = `UPDATE refresh_tokens SET created_at = now() - interval '10 minutes'`;
    await query(service.databaseUrl, ago);
    const begun = await request(service.url).post('/oauth2/device_authorization').send({ client_id: 'cli' });
    const { user_code, device_code } = begun.body as { user_code: string; device_code: string };
    await bearer(service.url, approver.access_token)
      .post(`/me/device-requests/${user_code}`)
      .send({ approve: true })
      .expect(204);
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const answer = await request(service.url)
      .post('/oauth2/token')
      .send({ grant_type, device_code, client_id: 'cli' })
      .expect(200);
    const { access_token: token } = answer.body as Tokens;
    await before(service.url, approver);
    await bearer(service.url, token).get('/me').expect(200);
    const signal = (time: number) =>
      transmitter.set(
        caep('session-revoked'),
        { event_timestamp: time },
        { sub_id: transmitter.subject(subject) },
      );
    await push(service, signal(seconds() - 900)).expect(202); // before the sign-in
    await bearer(service.url, token).get('/me').expect(200);
    await push(service, signal(seconds() - 300)).expect(202);
    await bearer(service.url, approver.access_token).get('/me').expect(401);
    await bearer(service.url, token).get('/me').expect(401);
  });
});
