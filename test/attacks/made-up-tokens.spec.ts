import { randomUUID } from 'node:crypto';
import pg from 'pg';
import request from 'supertest';
import { Events } from '../../src/platform/events.js';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { query } from '../support/database.js';
import { bearer, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

const BAD_TOKENS = 10;
const CALLS = 40;

const madeUp = (): string =>
  makeRefreshToken({ userId: randomUUID(), sessionId: randomUUID(), deviceId: null });

/** Revocation needs no credential: each made-up token cost two statements with a connection each, also beyond the limit. */
describe('made-up refresh tokens at POST /oauth2/revoke', () => {
  let batches: Map<string, number>;
  const { service } = useService({
    TRUST_PROXY: 'loopback',
    RATE_LIMIT: 'on',
    RATE_LIMIT_BAD_TOKEN: String(BAD_TOKENS),
  });
  beforeAll(() =>
    service.app.get(Events).on('statement.batched', ({ name }) => {
      batches.set(name, (batches.get(name) ?? 0) + 1);
    }),
  );
  beforeEach(() => {
    batches = new Map();
  });
  const revoke = (token: string, from: string) =>
    request(service.url).post('/oauth2/revoke').set('X-Forwarded-For', from).send({ token });

  it('hold two connections at most', async () => {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    const calls: Promise<unknown>[] = [];
    const waits = async (): Promise<number> => {
      // Only lookups of tokens: statements of background work wait for the table, too.
      const text = `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%token_hash%'`;
      return (await query(service.databaseUrl, text)).length;
    };
    try {
      await client.query('BEGIN');
      await client.query('LOCK TABLE refresh_tokens IN ACCESS EXCLUSIVE MODE');
      // From several addresses, which the limit does not yet refuse.
      const call = async (i: number): Promise<unknown> => revoke(madeUp(), `192.0.2.${i}`);
      for (let i = 0; i < CALLS; i++) calls.push(call(i));
      await until(async () => (await waits()) > 0);
      for (let i = 0; i < 20; i++) expect(await waits()).toBeLessThanOrEqual(2);
    } finally {
      await client.query('ROLLBACK');
      await client.end();
      await Promise.all(calls);
    }
  });

  it('beyond the limit: apart from those of others, without a second statement; a valid token is revoked', async () => {
    const address = '198.51.100.1';
    const seen = [];
    for (let i = 0; i < BAD_TOKENS + 10; i++) seen.push((await revoke(madeUp(), address)).status);
    expect(seen).toEqual([...Array<number>(BAD_TOKENS).fill(200), ...Array<number>(10).fill(429)]);
    expect(batches.get('refresh-token')).toBe(BAD_TOKENS + 1);
    expect(batches.get('refresh-token-suspect')).toBe(9);
    expect(batches.get('confirm-read')).toBe(BAD_TOKENS);
    const { refresh_token, access_token } = await signIn(service.url);
    await revoke(refresh_token, address).expect(200);
    await bearer(service.url, access_token).get('/me').expect(401);
  });
});
