import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use, useService } from '../support/use.js';
/** Of a user of the directory (docs/guides/access-policy.md#conditions). */
describe('allow reads what the provider said', () => {
  const asked = use(() => WebhookReceiver.start());
  const { provider, service } = useService(() => ({
    ...DIRECTORY_ENV,
    SERVICE_KEYS: SERVICE_KEY,
    PROVIDERS_STUB_ALLOW: 'claim:plan=gold, claim:team=zz',
    ADMISSION_URL: asked.url,
    ADMISSION_SECRET: WEBHOOK_SECRET,
  }));
  const directory = new DirectoryClient(service);
  const refresh = ({ refresh_token }: Tokens) =>
    request(service.url).post('/oauth2/refresh').send({ refresh_token });
  const admit = (claims: object) => {
    asked.answer = (response) => void response.end(JSON.stringify({ allow: true, claims }));
  };
  const team = [...Array.from({ length: 60 }, (_, i) => `${i} ${'t'.repeat(38)}`), 'zz'];
  it('also if the admission service gives the same claim', async () => {
    const user = randomUUID();
    provider.claims.set(user, { plan: 'gold' });
    admit({ plan: 'gold' });
    await directory.create('/Users', { userName: user, externalId: user });
    expect((await refresh(await signIn(service.url, user))).status).toBe(200);
  });
  it('also if claims of the application leave less room', async () => {
    const user = randomUUID();
    provider.claims.set(user, { team });
    admit({});
    await directory.create('/Users', { userName: user, externalId: user });
    const big = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`app${i}`, 'y'.repeat(60)]));
    await bearer(service.url, SERVICE_KEY)
      .post('/users', { provider: 'stub', provider_user_id: user, claims: big })
      .expect(201);
    expect((await refresh(await signIn(service.url, user))).status).toBe(200);
  });
  it('also if groups of the directory leave less room', async () => {
    const user = randomUUID();
    provider.claims.set(user, { team });
    admit({});
    const id = await directory.create('/Users', { userName: user, externalId: user });
    const tokens = await signIn(service.url, user);
    for (let i = 0; i < 18; i++)
      await directory.create('/Groups', { displayName: `${i} ${'g'.repeat(95)}`, members: [{ value: id }] });
    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'displayName', value: 'Ada 3' }).expect(200);
    expect((await refresh(tokens)).status).toBe(200);
  });
});
