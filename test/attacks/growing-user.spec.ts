import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import {
  BATCH,
  ExpiredRows,
  expiringTables,
  buildRemoval,
} from '../../src/operations/removal/expired-rows.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { nodesOf, rowsRead, type PlanNode } from './plan.js';
import { prepare, use } from '../support/use.js';

const ENDED = 1000;
const TOKENS = 30_000;
const OTHERS = 500;

/**
 * One user signs in and refreshes as fast as possible: the removal of other users' expired rows must not
 * notice.
 */
describe('one user with 1,000 ended sessions and 30,000 living access tokens', () => {
  const sql = (text: string, values: unknown[] = []) => query(service.databaseUrl, text, values);
  const count = async (condition: string): Promise<unknown> =>
    (await sql(`SELECT count(*)::int AS n FROM refresh_tokens WHERE ${condition}`))[0]!['n'];

  const service = use(async () => {
    const timer = jest.spyOn(Removal.prototype, 'onApplicationBootstrap').mockReturnValue();
    const started = await startTestService();
    timer.mockRestore();
    return started;
  });
  const removal = prepare(() => service.app.get(Removal));

  beforeEach(async () => {
    await sql('TRUNCATE refresh_tokens, access_tokens');
    await sql(`ALTER TABLE access_tokens SET (autovacuum_enabled = off)`);
    // The planner knows the table as it was before: a token or two for each user.
    await insertTokens(20_000, 'gen_random_uuid()', 'gen_random_uuid()');
    await sql('ANALYZE access_tokens');
    await insertSessions(ENDED, USER, '3 hours');
    await insertSessions(OTHERS, 'gen_random_uuid()', '2 hours');
  });

  const USER = `'00000000-0000-4000-8000-000000000001'::uuid`;
  const insertTokens = (rows: number, user: string, session: string) =>
    sql(
      `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
       SELECT ${user}, gen_random_uuid(), ${session}, now() + interval '1 hour', repeat('t', 600)
       FROM generate_series(1, $1) i`,
      [rows],
    );
  const insertSessions = (rows: number, user: string, ago: string) =>
    sql(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
       SELECT ${user}, gen_random_uuid(), '\\x00', at, at
       FROM generate_series(1, $1) i, LATERAL (SELECT now() - interval '${ago}' + i * interval '1 ms') AS t (at)`,
      [rows],
    );

  it('all that may go is removed in one run, in as few batches as without tokens', async () => {
    await insertTokens(TOKENS, USER, 'gen_random_uuid()'); // of sessions that live
    const batches = jest.spyOn(service.app.get(ExpiredRows), 'removeBatch');
    const removed = await removal.run();
    const ofSessions = batches.mock.calls.filter(([{ table }]) => table === 'refresh_tokens');
    batches.mockRestore();
    expect(removed['refresh_tokens']).toBe(ENDED + OTHERS);
    expect(ofSessions).toHaveLength(Math.ceil((ENDED + OTHERS) / BATCH));
  });

  it('the sessions that still have a token stay; all others go', async () => {
    await insertTokens(
      TOKENS,
      USER,
      `(SELECT session_id FROM refresh_tokens WHERE user_id = ${USER} ORDER BY session_id OFFSET i % 100 LIMIT 1)`,
    );
    expect((await removal.run())['refresh_tokens']).toBe(ENDED - 100 + OTHERS);
    expect(await count(`user_id = ${USER}`)).toBe(100);
    expect(await count(`user_id <> ${USER}`)).toBe(0);
  });

  it('its access tokens are looked through once for a batch, by their key', async () => {
    await insertTokens(TOKENS, USER, 'gen_random_uuid()');
    expect(await tokensRead()).toBeLessThanOrEqual(TOKENS);
  });

  // session.sql.ts, MOST_ACCESS_TOKENS: a batch must end in time, however many tokens one user has.
  it('with more than 50,000 tokens it keeps its ended sessions; a batch reads no more of its tokens', async () => {
    await insertTokens(60_000, USER, 'gen_random_uuid()');
    expect(await tokensRead()).toBeLessThanOrEqual(50_000);
    expect((await removal.run())['refresh_tokens']).toBe(OTHERS);
    expect(await count(`user_id = ${USER}`)).toBe(ENDED);
    await sql(`DELETE FROM access_tokens WHERE jti IN (SELECT jti FROM access_tokens LIMIT 40000)`);
    expect((await removal.run())['refresh_tokens']).toBe(ENDED);
  });

  /** How many access tokens the statement of a batch reads. */
  async function tokensRead(): Promise<number> {
    const tables = expiringTables(service.app.get(DataSource), { auditRetentionDays: 90 });
    const { text } = buildRemoval(tables.find(({ table }) => table === 'refresh_tokens')!);
    const [{ 'QUERY PLAN': plan }] = (await sql(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text.replace('$1', `'-infinity'`)}`,
    )) as [{ 'QUERY PLAN': { Plan: PlanNode }[] }];
    const nodes = nodesOf(plan[0]!.Plan);
    const scans = nodes.filter((node) => node['Relation Name'] === 'access_tokens');
    expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    return scans.reduce((sum, node) => sum + rowsRead(node), 0);
  }
});
