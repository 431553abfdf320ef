import request from 'supertest';
import { TokenService } from '../../src/token/refresh/token.service.js';
import { NO_PROOF } from '../support/dpop.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const STATE_TTL = 45;

describe('what expires', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), STATE_TTL: String(STATE_TTL) });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it('a state does STATE_TTL seconds after it was made, by the database’s clock (contract §2)', async () => {
    const now = async () =>
      Number((await query(service.databaseUrl, 'SELECT extract(epoch FROM now()) AS s'))[0]!['s']);
    const before = await now();
    await beginSignIn(service.url);
    const after = await now();
    const [row] = await query(
      service.databaseUrl,
      'SELECT extract(epoch FROM expires_at) AS s FROM authorization_states',
    );
    expect(Number(row!['s'])).toBeGreaterThanOrEqual(before + STATE_TTL);
    expect(Number(row!['s'])).toBeLessThanOrEqual(after + STATE_TTL);
  });

  it.each([
    ['is not over', '5 seconds', 200],
    ['is over', '-1 millisecond', 401],
  ])('a state whose time %s', async (_name, left, status) => {
    const state = await beginSignIn(service.url);
    await query(service.databaseUrl, 'UPDATE authorization_states SET expires_at = now() + $1::interval', [
      left,
    ]);
    await request(service.url).post('/oauth2/token').send({ code: 'c', state }).expect(status);
  });

  it('a refresh token does, also among good ones that share a statement (spec §2.2)', async () => {
    const users = await Promise.all(Array.from({ length: 8 }, () => signIn(service.url)));
    const expired = users.filter((_, i) => i % 2 === 1);
    await query(
      service.databaseUrl,
      `UPDATE refresh_tokens SET expires_at = now() - interval '1 millisecond' WHERE user_id = ANY ($1)`,
      [expired.map(({ user_id }) => user_id)],
    );
    const tokens = service.app.get(TokenService);
    // In one turn: all of them share one statement.
    const refreshed = await Promise.allSettled(
      users.map((user) => tokens.refresh(user.refresh_token, NO_PROOF)),
    );
    expect(refreshed.map(({ status }) => status)).toEqual(
      users.map((_, i) => (i % 2 === 1 ? 'rejected' : 'fulfilled')),
    );
    const stored = await query(
      service.databaseUrl,
      'SELECT count(*)::int AS n FROM access_tokens WHERE user_id = ANY ($1)',
      [expired.map(({ user_id }) => user_id)],
    );
    expect(stored).toEqual([{ n: expired.length }]); // from the sign-ins
  });
});
