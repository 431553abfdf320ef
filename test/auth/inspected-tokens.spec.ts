import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { TokenInspector, type InspectedToken } from '../../src/token/access-tokens/token-inspector.js';
import { query } from '../support/query.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

/** What a token stands for, where either kind may arrive: revocation and introspection (RFC 7009, RFC 7662). */
describe('a token that is looked at', () => {
  let provider: StubProvider;
  let service: TestService;
  let tokens: Tokens;
  const deviceId = randomUUID();
  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      ACCESS_TOKEN_TTL: '100',
      REFRESH_TOKEN_TTL: '5000',
    });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });
  beforeEach(async () => {
    tokens = await signIn(service.url, undefined, { device_id: deviceId });
  });

  const inspect = (token: string): Promise<InspectedToken | undefined> =>
    service.app.get(TokenInspector).inspect(token);
  const session = () => ({
    userId: tokens.user_id,
    sessionId: claimsOf(tokens.access_token)['sid'] as string,
    deviceId,
  });

  it('is an access token, with what it says itself', async () => {
    const { jti, iat, exp } = claimsOf(tokens.access_token);
    expect(await inspect(tokens.access_token)).toEqual({
      session: session(),
      kind: 'Bearer',
      jti,
      iat,
      exp,
      iss: service.url,
      aud: service.url,
    });
  });

  it('is a refresh token, with when its session began and ends, in seconds', async () => {
    const found = await inspect(tokens.refresh_token);
    const [row] = await query<{ iat: number; exp: number }>(
      service.databaseUrl,
      `SELECT floor(extract(epoch FROM created_at))::int AS iat, floor(extract(epoch FROM expires_at))::int AS exp
       FROM refresh_tokens WHERE session_id = $1`,
      [session().sessionId],
    );
    expect(found).toEqual({
      session: session(),
      kind: 'refresh_token',
      ...row,
      iss: service.url,
      aud: service.url,
    });
    expect(found!.exp - found!.iat).toBeGreaterThanOrEqual(4999);
    expect(found!.exp - found!.iat).toBeLessThanOrEqual(5001);
  });

  it.each<[string, () => string | Promise<string>]>([
    ['a text that was never one', () => 'x'],
    [
      'a refresh token of a session that there is not',
      () => makeRefreshToken({ userId: randomUUID(), sessionId: randomUUID(), deviceId: null }),
    ],
    ['another refresh token of the session', () => makeRefreshToken(session())],
    ['an access token that was changed', () => `${tokens.access_token.slice(0, -8)}AAAAAAAA`],
  ])('is nothing when it is %s', async (_name, token) => {
    expect(await inspect(await token())).toBeUndefined();
  });

  it('is nothing when its session was signed out', async () => {
    await request(service.url).post('/oauth2/revoke').send({ token: tokens.refresh_token }).expect(200);
    expect([await inspect(tokens.refresh_token), await inspect(tokens.access_token)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it.each([
    ['has expired', '-1 millisecond', false],
    ['expires in a moment', '1 minute', true],
  ])('is what it was until it expires: %s', async (_name, left, isGood) => {
    await query(
      service.databaseUrl,
      `UPDATE refresh_tokens SET expires_at = now() + '${left}'::interval WHERE session_id = $1`,
      [session().sessionId],
    );
    expect((await inspect(tokens.refresh_token)) !== undefined).toBe(isGood);
  });

  it('is nothing when its session was signed out, also while its time is not over', async () => {
    await query(
      service.databaseUrl,
      `UPDATE refresh_tokens SET signed_out_at = now() WHERE session_id = $1`,
      [session().sessionId],
    );
    expect(await inspect(tokens.refresh_token)).toBeUndefined();
  });
});
