import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { startTestService } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
describe('an approval by a session from before the directory was on', () => {
  const provider = use(() => StubProvider.start());
  const env = () => ({ ...provider.env(), DEVICE_GRANT: 'on', PUBLIC_URL: 'http://localhost:3000' });
  const before = use(() => startTestService(env()));
  const service = use(() =>
    startTestService({
      ...env(),
      ...DIRECTORY_ENV,
      PROVIDERS_STUB_ALLOW: 'directory',
      DATABASE_URL: before.databaseUrl,
    }),
  );
  it('is one of a user of the directory', async () => {
    const user = randomUUID();
    const directory = new DirectoryClient(service);
    const tokens = await signIn(before.url, user);
    await directory.create('/Users', { userName: user, externalId: user });
    const { body } = await request(service.url)
      .post('/oauth2/device_authorization')
      .send({ client_id: 'cli' });
    const { user_code, device_code } = body as { user_code: string; device_code: string };
    await bearer(service.url, tokens.access_token)
      .post(`/me/device-requests/${user_code}`)
      .send({ approve: true })
      .expect(204);
    const answer = await request(service.url)
      .post('/oauth2/token')
      .send({ grant_type: GRANT, device_code, client_id: 'cli' });
    expect(answer.body).toMatchObject({ access_token: expect.any(String) });
  });
});
