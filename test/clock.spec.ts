import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { bearer } from './support/bearer.js';
import { startServiceProcess, type ServiceProcess } from './support/service-process.js';
import { startTestService, type TestService } from './support/service.js';
import { claimsOf, signIn, type Tokens } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';
import { until } from './support/until.js';

const PRELOAD = fileURLToPath(new URL('./support/skewed-clock.mjs', import.meta.url));

/** Instances with wrong clocks agree: all use the database's clock (contract §5). */
describe('an instance whose clock is 90 s off', () => {
  let provider: StubProvider;
  let right: TestService;
  let early: ServiceProcess;
  let late: ServiceProcess;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const env = { ...provider.env(), PUBLIC_URL: 'http://localhost:3000', ACCESS_TOKEN_TTL: '4' };
    right = await startTestService(env);
    const skewed = (ms: number) => ({
      ...env,
      DATABASE_URL: right.databaseUrl,
      NODE_OPTIONS: `--import ${PRELOAD}`,
      CLOCK_SKEW_MS: String(ms),
    });
    [early, late] = await Promise.all([
      startServiceProcess(skewed(90_000)),
      startServiceProcess(skewed(-90_000)),
    ]);
  });
  afterAll(async () => {
    await early?.end('SIGTERM');
    await late?.end('SIGTERM');
    await right?.close();
    await provider?.close();
  });

  const everyone = (): string[] => [right.url, early.url, late.url];
  const statuses = async (token: string): Promise<number[]> => {
    const answers = await Promise.all(everyone().map((url) => bearer(url, token).get('/me')));
    return answers.map(({ status }) => status);
  };

  it('really has a wrong clock', () => {
    for (const [process, skew] of [
      [early, 90_000],
      [late, -90_000],
    ] as const) {
      const [line] = process
        .output()
        .split('\n')
        .filter((text) => text.includes('Latchkey is ready'));
      const { time } = JSON.parse(line!) as { time: string };
      expect(Math.abs(Date.parse(time) - Date.now() - skew)).toBeLessThan(60_000);
    }
  });

  it('issues tokens of the right time, and all instances take all tokens, until they expire', async () => {
    for (const url of everyone()) {
      const tokens = await signIn(url);
      const { body } = await request(url).post('/oauth2/refresh').send(tokens).expect(200);
      const { access_token } = body as Tokens;
      const { iat, exp } = claimsOf(access_token) as { iat: number; exp: number };
      expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(2);
      expect(exp - iat).toBe(4);
      expect(await statuses(access_token)).toEqual([200, 200, 200]);
      if (url !== late.url) continue;
      await until(() => Date.now() > exp * 1000 + 500);
      expect(await statuses(access_token)).toEqual([401, 401, 401]);
    }
  });
});
