import { createVerifier, LatchkeyError } from '../../packages/server/src/index.js';
import { Agent, AGENTS, agentsFile, API, API_KEY, OTHER_API, type AgentTokens } from '../agents/agent.js';
import { Random } from '../support/random.js';
import { bearer, signIn } from '../support/sign-in.js';
import { SERVICE_KEY } from '../support/service.js';
import { use, useInstances } from '../support/use.js';
import { until } from '../support/waiting.js';

const PEOPLE = 12;

/** Programs that refresh and act while their users, or the support, end them: no program acts after its end. */
describe('programs on two instances', () => {
  const { provider, here, there } = useInstances(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  const api = use(() => createVerifier({ issuer: here.url, audience: API, serviceKey: API_KEY }));
  const other = use(() =>
    createVerifier({ issuer: here.url, url: there.url, audience: OTHER_API, serviceKey: SERVICE_KEY }),
  );
  const both = use(() =>
    createVerifier({ issuer: here.url, url: there.url, audience: [API, here.url], serviceKey: SERVICE_KEY }),
  );
  let who = '';
  beforeAll(async () => {
    provider.signInAtOnce(() => who);
    await until(() => api.isNotified && other.isNotified && both.isNotified);
  });

  const random = new Random(20_261_128);
  const anywhere = (): string => random.pick([here.url, there.url]);
  const isAccepted = (call: Promise<unknown>): Promise<boolean> =>
    call.then(
      () => true,
      (error: unknown) => {
        if (error instanceof LatchkeyError && error.status === 401) return false;
        throw error;
      },
    );

  const ENDS = {
    'the user ends the device': async (phone, { device_id: device }) =>
      void (await bearer(anywhere(), phone).delete(`/devices/${device}`).expect(204)),
    'the user signs the others out': async (phone) =>
      void (await bearer(anywhere(), phone).post('/sign-out', { scope: 'others' }).expect(204)),
    'the user signs all out': async (phone) =>
      void (await bearer(anywhere(), phone).post('/sign-out', { scope: 'all' }).expect(204)),
    'support signs the user out': async (_phone, { sub }) =>
      void (await bearer(anywhere(), SERVICE_KEY).post(`/users/${sub}/sign-out`, {}).expect(200)),
    'support suspends the user': async (_phone, { sub }) =>
      void (await bearer(anywhere(), SERVICE_KEY).patch(`/users/${sub}`, { suspended: true }).expect(200)),
    'support ends the program': async () =>
      void (await bearer(anywhere(), SERVICE_KEY)
        .post('/agents/sign-out', { client_id: AGENTS.web.client_id })
        .expect(200)),
  } satisfies Record<
    string,
    (phone: string, claims: { sub: string; device_id?: string | undefined }) => Promise<void>
  >;

  it.each(Object.entries(ENDS))('none acts after its end: %s', async (name, end) => {
    const people = [];
    for (let i = 0; i < PEOPLE; i++) {
      who = `${name} ${i}`;
      const agent = new Agent(here.url);
      const tokens = await agent.allowed();
      people.push({ agent, tokens, phone: await signIn(there.url, who) });
    }
    await Promise.all(
      people.map(async ({ agent, tokens, phone }) => {
        const claims = await api.verify(tokens.access_token);
        const issued = [tokens.access_token];
        let endedAt = Infinity;
        let isRefused = false;
        const acting = (async () => {
          while (!isRefused) {
            const began = performance.now();
            const { status, body } = await agent.refresh(tokens, {}, anywhere());
            isRefused = status !== 200;
            if (isRefused) continue;
            expect(began).toBeLessThan(endedAt);
            const { access_token: token } = body as AgentTokens;
            issued.push(token);
            await isAccepted(api.verify(token));
            expect(await isAccepted(other.verify(token))).toBe(false);
          }
        })();
        await until(() => issued.length > 2);
        await end(phone.access_token, claims);
        endedAt = performance.now();
        await acting;
        for (const verifier of [api, both])
          for (const token of issued) await until(async () => !(await isAccepted(verifier.verify(token))));
      }),
    );
  });
});
