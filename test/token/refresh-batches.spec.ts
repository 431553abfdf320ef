import { jest } from '@jest/globals';
import request from 'supertest';
import { Clock } from '../../src/platform/database/clock.js';
import { AccessTokens } from '../../src/token/access-tokens/access-token.js';
import { KeyRing } from '../../src/token/keys/key-ring.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { connect, query } from '../support/database.js';
import { until, waiting } from '../support/waiting.js';
import { useEach, useService } from '../support/use.js';

const IN_FLIGHT = 2; // statements (platform/database/batching.ts)
const BEHIND = 5;
const AHEAD_MS = 100_000;

/** Refreshes that wait for the next batch: changes before its statement apply to them. */
describe('refreshes that wait for their statement', () => {
  let tokens: Tokens;

  const { service } = useService();
  beforeEach(async () => {
    tokens = await signIn(service.url);
  });
  const lock = useEach(
    () => connect(service.databaseUrl),
    (one) => one.end(),
  );
  afterEach(() => jest.restoreAllMocks());

  const release = () => lock.query('COMMIT');

  /** Holds up two statements until `release`, with other refreshes behind them. @returns the answers */
  async function delayRefreshes() {
    const issue = jest.spyOn(AccessTokens.prototype, 'issue');
    const refresh = async () => request(service.url).post('/oauth2/refresh').send(tokens);
    const readKid = (token: string): string =>
      (JSON.parse(Buffer.from(token, 'base64url').toString()) as { kid: string }).kid;
    const describeAnswer = (answer: request.Response) => {
      const { access_token: token } = answer.body as Tokens;
      if (answer.status !== 200) return { status: answer.status, token, kid: undefined, iat: undefined };
      return { status: 200, token, kid: readKid(token.split('.')[0]!), iat: claimsOf(token).iat };
    };
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now); // a refresh fails after 1.6 s (platform/database/batching.ts)
    await lock.query('BEGIN');
    await lock.query('LOCK TABLE access_tokens IN EXCLUSIVE MODE'); // who reads is not held up
    const sent: PromiseLike<request.Response>[] = [];
    for (let i = 1; i <= IN_FLIGHT; i++) {
      sent.push(refresh());
      await waiting(service.databaseUrl, [i, 'INSERT INTO access_tokens']);
    }
    const heard = service.app.getHttpServer();
    let behind = 0;
    heard.on('request', () => behind++);
    for (let i = 0; i < BEHIND; i++) sent.push(refresh());
    await until(() => behind >= BEHIND);
    expect(issue).toHaveBeenCalledTimes(IN_FLIGHT);
    return { answers: Promise.all(sent).then((all) => all.map(describeAnswer)) };
  }

  it('are signed with the key and by the clock of the moment at which it is made', async () => {
    const { app, databaseUrl } = service;
    const [keys, clock] = [app.get(KeyRing), app.get(Clock)];
    const before = keys.signer!.kid;
    const { kid } = await app.get(KeyStore).rotate();
    await until(() => keys.jwks.keys.length === 2);
    const { answers } = await delayRefreshes();
    await query(databaseUrl, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
    await until(() => keys.signer!.kid === kid);
    const now = clock.now.bind(clock);
    const later = Math.floor((now() + AHEAD_MS) / 1000);
    jest.spyOn(clock, 'now').mockImplementation(() => now() + AHEAD_MS);
    await release();
    const all = await answers;
    const [first, behind] = [all.slice(0, IN_FLIGHT), all.slice(IN_FLIGHT)];
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
    expect(new Set(first.map((one) => one.kid))).toEqual(new Set([before]));
    expect(new Set(behind.map((one) => one.kid))).toEqual(new Set([kid]));
    for (const { iat } of first) expect(iat).toBeLessThan(later);
    for (const { iat } of behind) expect(iat).toBeGreaterThanOrEqual(later);
    for (const { token } of all) await bearer(service.url, token).get('/me').expect(200);
  });

  it('get nothing once their session is signed out, and what was under way is worth nothing', async () => {
    const { answers } = await delayRefreshes();
    await bearer(service.url, tokens.access_token).post('/sign-out').expect(204);
    await release();
    const all = await answers;
    expect(all.slice(IN_FLIGHT).map(({ status }) => status)).toEqual(Array<number>(BEHIND).fill(401));
    for (const { status, token } of all) {
      if (status === 200) await bearer(service.url, token).get('/me').expect(401);
    }
  });

  it('are answered before the service stops', async () => {
    const { answers } = await delayRefreshes();
    const stopped = service.app.close();
    await release();
    expect((await answers).map(({ status }) => status)).toEqual(Array<number>(IN_FLIGHT + BEHIND).fill(200));
    await stopped;
  });
});
