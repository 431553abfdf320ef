import { fileURLToPath } from 'node:url';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import request from 'supertest';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { ClientKey } from '../support/dpop.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const PRELOAD = fileURLToPath(new URL('../support/skewed-clock.mjs', import.meta.url));

/**
 * Instances with wrong clocks agree: all use the database's clock
 * (docs/security-model.md#protection-of-a-session).
 */
describe('an instance with a clock that is 90 s off', () => {
  let early: ServiceProcess;
  let late: ServiceProcess;
  afterAll(async () => {
    await early?.end('SIGTERM');
    await late?.end('SIGTERM');
  });

  const provider = use(() => StubProvider.start());
  const env = () => ({ ...provider.env(), PUBLIC_URL: 'http://localhost:3000', ACCESS_TOKEN_TTL: '4' });
  const right = use(() => startTestService(env()));
  beforeAll(async () => {
    const skewed = (ms: number) => ({
      ...env(),
      DATABASE_URL: right.databaseUrl,
      NODE_OPTIONS: `--import ${PRELOAD}`,
      CLOCK_SKEW_MS: String(ms),
    });
    [early, late] = await Promise.all([
      startServiceProcess(skewed(90_000)),
      startServiceProcess(skewed(-90_000)),
    ]);
  });

  const everyone = (): string[] => [right.url, early.url, late.url];
  const statuses = async (token: string): Promise<number[]> => {
    const answers = await Promise.all(everyone().map((url) => bearer(url, token).get('/me')));
    return answers.map(({ status }) => status);
  };

  const expectRightTime = (date: string): void => {
    expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(5000);
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

  it('sends the right time in every response, and pages of other origins may read it', async () => {
    const Origin = 'http://localhost:5173';
    const json = { method: 'POST', headers: { Origin, 'Content-Type': 'application/json' } };
    for (const { url } of [early, late]) {
      for (const [path, init] of [
        ['/oauth2/authorize?provider=stub', {}],
        ['/oauth2/authorize', {}],
        ['/oauth2/token', { ...json, body: '{' }],
        ['/nowhere', {}],
        ['/', {}], // a file
        ['/.well-known/jwks.json', { method: 'OPTIONS' }],
        ['/health/live', { method: 'HEAD' }],
      ] as [string, RequestInit][]) {
        const { headers } = await fetch(url + path, { headers: { Origin }, ...init });
        expectRightTime(headers.get('date')!);
        expect(headers.get('access-control-expose-headers')).toContain('Date');
      }
      // Answered before Express.
      const polling = await fetch(`${url}/socket.io/?EIO=4&transport=polling`);
      expectRightTime(polling.headers.get('date')!);
      for (const head of [
        'GET / HTTP/1.1\r\nBroken\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n',
      ]) {
        const socket = connect(Number(new URL(url).port), 'localhost');
        socket.write(head);
        const answer = await textOf(socket);
        expect(answer).toContain('HTTP/1.1 400');
        const dates = [...answer.matchAll(/^Date: (.*)\r$/gm)].map(([, date]) => date!);
        expect(dates).toHaveLength(1);
        expectRightTime(dates[0]!);
      }
    }
  });

  it('takes proofs of the right time, wherever they arrive', async () => {
    const issuer = 'http://localhost:3000';
    const key = new ClientKey();
    const { body } = await request(early.url)
      .post('/oauth2/token')
      .set('DPoP', key.proof(`${issuer}/oauth2/token`))
      .send({ code: 'ada', state: await beginSignIn(late.url) })
      .expect(200);
    const { refresh_token } = body as Tokens;
    const refresh = (url: string, off: number) => {
      const iat = Date.now() / 1000 + off;
      const proof = key.proof(`${issuer}/oauth2/refresh`, { claims: { iat } });
      return request(url).post('/oauth2/refresh').set('DPoP', proof).send({ refresh_token });
    };
    for (const url of everyone()) {
      for (const off of [-55, 0, 55]) await refresh(url, off).expect(200);
      for (const off of [-65, 65]) {
        const refused = await refresh(url, off).expect(400);
        expect(refused.body).toMatchObject({ error: 'invalid_dpop_proof' });
        // A client with a wrong clock corrects it by the response.
        const mended = Date.parse(refused.headers['date']!) - Date.now();
        await refresh(url, mended / 1000).expect(200);
      }
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
