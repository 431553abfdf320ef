import request from 'supertest';
import { Agent, AGENTS, agentsFile, API_KEY } from '../agents/agent.js';
import { SERVICE_KEY } from '../support/service.js';
import { startServiceProcess } from '../support/service-process.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { useService, use } from '../support/use.js';
import { RELEASED_MAIN } from './released.js';

/** An instance of a version without programs, beside one with them, as during an upgrade and after the way back. */
describe('a version without programs', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  const old = use(
    () =>
      startServiceProcess(
        {
          ...provider.env(),
          PROVIDERS_MOCK_ENABLED: 'false',
          SERVICE_KEYS: SERVICE_KEY,
          PUBLIC_URL: service.settings.publicUrl,
          DATABASE_URL: service.databaseUrl,
        },
        RELEASED_MAIN,
      ),
    ({ end }) => end('SIGTERM'),
  );
  beforeAll(() => provider.signInAtOnce(() => 'ada'));

  it('makes no token of the application of what a program holds', async () => {
    const agent = new Agent(service.url);
    const code = await agent.code();
    expect((await agent.redeem(code, {}, old.url)).body).toMatchObject({ error: 'invalid_grant' });
    const tokens = (await agent.redeem(code).expect(200)).body as {
      access_token: string;
      refresh_token: string;
    };
    const { refresh_token, access_token: token } = tokens;
    expect((await agent.refresh(tokens, {}, old.url)).body).toMatchObject({ error: 'invalid_grant' });
    const refreshed = await request(old.url).post('/oauth2/refresh').send({ refresh_token }).expect(401);
    expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
    for (const path of ['/me', '/devices', '/forward-auth']) {
      await bearer(old.url, token).get(path).expect(401);
    }
    const asked = await bearer(old.url, SERVICE_KEY).post('/oauth2/introspect', { token });
    expect(asked.body).toEqual({ active: false });
    await agent.refresh(tokens).expect(200);
  });

  it('ends it with its device', async () => {
    const agent = new Agent(service.url, AGENTS.cli);
    const tokens = await agent.allowed();
    const phone = await signIn(old.url, 'ada');
    const device = claimsOf(tokens.access_token)['device_id'] as string;
    await bearer(old.url, phone.access_token).delete(`/devices/${device}`).expect(204);
    expect((await agent.refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
    const asked = await bearer(service.url, API_KEY).post('/oauth2/introspect', {
      token: tokens.access_token,
    });
    expect(asked.body).toEqual({ active: false });
  });
});
