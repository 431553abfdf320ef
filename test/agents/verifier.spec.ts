import {
  createVerifier,
  requireScope,
  type Claims,
  type LatchkeyError,
} from '../../packages/server/src/index.js';
import { bearer, signIn } from '../support/sign-in.js';
import { SERVICE_KEY } from '../support/service.js';
import { use, useService } from '../support/use.js';
import { until } from '../support/waiting.js';
import { Agent, agentsFile, API, API_KEY, type AgentTokens } from './agent.js';

/** `@latchkey/server` at the API; the vectors of all languages have the rest (verifiers/vectors/agents.json). */
describe('the API of a program', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  const own = use(() => createVerifier({ issuer: service.url, audience: API, serviceKey: API_KEY }));
  const both = use(() =>
    createVerifier({ issuer: service.url, audience: [API, service.url], serviceKey: SERVICE_KEY }),
  );
  const application = use(() => createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY }));
  beforeAll(async () => {
    provider.claims.set('ada', { roles: ['editor'], plan: 'pro', team: 'red' });
    provider.signInAtOnce(() => 'ada');
    await until(() => own.isNotified && both.isNotified && application.isNotified);
  });

  const allowed = (scopes = ['orders:read']): Promise<AgentTokens> =>
    new Agent(service.url).allowed(undefined, scopes);
  const refused = (call: Promise<Claims>): Promise<number> =>
    call.then(
      () => 200,
      ({ status }: LatchkeyError) => status,
    );

  it('accepts its tokens, with the scopes that the user has allowed, and the application does not', async () => {
    const { access_token: token } = await allowed();
    for (const verifier of [own, both]) {
      const claims = await verifier.verify(token);
      expect(claims).toMatchObject({ aud: API, roles: ['editor'] });
      expect(claims.claims).toEqual({ plan: 'pro' });
      requireScope('orders:read')(claims);
      expect(() => requireScope('orders:write')(claims)).toThrow('insufficient_scope');
    }
    expect(await refused(application.verify(token))).toBe(401);
    const phone = await signIn(service.url, 'ada');
    expect(
      await Promise.all([own, both, application].map((one) => refused(one.verify(phone.access_token)))),
    ).toEqual([401, 200, 200]);
  });

  it('refuses a program that was ended, with a service key of its own as well', async () => {
    const { access_token: token } = await allowed();
    const { device_id: device } = await own.verify(token);
    const phone = await signIn(service.url, 'ada');
    await bearer(service.url, phone.access_token).delete(`/devices/${device}`).expect(204);
    for (const verifier of [own, both])
      await until(async () => (await refused(verifier.verify(token))) === 401);
  });

  it('has the new claims as soon as the program has refreshed, and never those that it may not have', async () => {
    const agent = new Agent(service.url);
    const tokens = await agent.allowed();
    const { sub } = await both.verify(tokens.access_token);
    await application.users.setClaims(sub, { roles: ['reader'], team: 'blue' });
    await until(async () => {
      const seen = await both.verify(tokens.access_token).catch(() => undefined);
      return seen?.roles?.includes('reader') ?? true; // one issued in the second of the change is introspected
    });
    const { body } = await agent.refresh(tokens).expect(200);
    const { roles, claims } = await both.verify((body as AgentTokens).access_token);
    expect([roles, claims]).toEqual([['editor', 'reader'], { plan: 'pro' }]);
  });
});
