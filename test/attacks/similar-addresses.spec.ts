import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { query } from '../support/database.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

/** Addresses are compared in one way everywhere: an address that only looks like another one gives nothing. */
describe('e-mail addresses that are similar', () => {
  const { provider, service } = useService(() => ({
    ...provider.env('RULED'),
    PROVIDERS_RULED_ALLOW:
      'email=mark@corp.example, email=ada@bücher.example, email_domain=xn--mnchen-3ya.example, email_domain=*.korp.example',
    ...DIRECTORY_ENV,
    SERVICE_KEYS: SERVICE_KEY,
    DEVICE_GRANT: 'push',
  }));
  beforeEach(() => provider.reset());

  const statusOf = async (email: string): Promise<number> => {
    provider.answerWith(200, { provider_user_id: randomUUID(), email });
    const state = await beginSignIn(service.url, { provider: 'ruled' });
    return (await request(service.url).post('/oauth2/token').send({ code: 'c', state })).status;
  };
  const signInWith = (email: string): Promise<Tokens> => {
    provider.answerWith(200, { provider_user_id: randomUUID(), email });
    return signIn(service.url, randomUUID());
  };
  const backend = () => bearer(service.url, SERVICE_KEY);

  it.each([
    'mark@corp.example',
    'MARK@Corp.Example',
    'ada@bücher.example',
    'ada@xn--bcher-kva.example',
    'Ada@BÜCHER.example',
    'ada@bu\u0308cher.example',
    'eve@münchen.example',
    'eve@XN--MNCHEN-3YA.example',
    'eve@a.b.korp.example',
  ])('allow admits %j', async (email) => expect(await statusOf(email)).toBe(200));

  it.each([
    'mar\u212a@corp.example', // the sign of kelvin
    'mark@corp\u3002example', // ideographic full stop
    'mark@co\u00adrp.example', // soft hyphen
    'mark@ｃorp.example',
    'mark@corp.example%2f',
    'mark@corp.example/',
    'ada@bucher.example',
    'ada@bücher.example.evil.example',
    'ada@bü\u200bcher.example',
    'eve@munchen.example',
    'eve@xn--mnchen-3ya.example.evil.example',
    'eve@a.\u212aorp.example',
    'eve@korp.example',
    'eve@xn--a.example', // no Punycode
  ])('allow refuses %j', async (email) => expect(await statusOf(email)).toBe(403));

  it('support finds the user with the address, by either spelling of its domain', async () => {
    const name = randomUUID();
    const one = await signInWith(`k${name}@bücher.example`);
    await signInWith(`\u212a${name}@bücher.example`);
    for (const email of [`K${name}@bücher.example`, `k${name}@xn--bcher-kva.example`]) {
      const { body } = await backend()
        .get(`/users?${new URLSearchParams({ email }).toString()}`)
        .expect(200);
      expect(body).toMatchObject({ users: [{ user_id: one.user_id }] });
    }
    const { body } = await backend()
      .get(`/users?q=k${name}@${encodeURIComponent('büch')}`)
      .expect(200);
    expect((body as { users: unknown[] }).users).toHaveLength(1);
    await backend()
      .post('/users/sign-out', { email: `k${name}@XN--bcher-kva.example` })
      .expect(200, { sessions: 1 });
    await bearer(service.url, one.access_token).get('/me').expect(401);
  });

  it('a device that names an address reaches its user alone, though another one is similar', async () => {
    const name = randomUUID();
    await signInWith(`\u212a${name}@corp.example`);
    const one = await signInWith(`k${name}@corp.example`);
    await request(service.url)
      .post('/oauth2/device_authorization')
      .send({ client_id: 'tv', login_hint: `K${name}@corp.example` })
      .expect(200);
    const named = () =>
      query(service.databaseUrl, `SELECT FROM device_requests WHERE hinted_user_id = $1`, [one.user_id]);
    await until(async () => (await named()).length === 1);
  });

  it('a directory finds an address by either spelling, and no similar one', async () => {
    const directory = new DirectoryClient(service);
    const userName = randomUUID();
    const emails = [{ type: 'work', value: `k${userName}@bücher.example` }];
    await directory.create('/Users', { userName, externalId: userName, emails });
    const count = async (value: string): Promise<unknown> => {
      const filter = `emails[type eq "Work" and value eq "${value}"]`;
      const { body } = await directory.send('GET', `/Users?filter=${encodeURIComponent(filter)}`).expect(200);
      return (body as { totalResults: number }).totalResults;
    };
    expect(await count(`K${userName}@XN--BCHER-KVA.example`)).toBe(1);
    expect(await count(`\u212a${userName}@bücher.example`)).toBe(0);
  });
});
