import { randomUUID } from 'node:crypto';
import { Verifier } from '../../packages/server/src/verifier.js';
import { Sql, type Statement } from '../../src/platform/database/sql.js';
import { SessionFeedStore, toMs, toTime } from '../../src/token/feed/session-feed.store.js';
import { ClaimsChangesStore } from '../../src/user/claims-changes.store.js';
import { EventStreamReader } from '../support/event-stream.js';
import { query } from '../support/database.js';
import { SERVICE_KEY as KEY, startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

/** As many sessions as a user may have (docs/security.md#database). */
const SESSIONS = 10_000;
/** A reader of 1.3 MB a second: 64 KiB, and a pause. */
const BYTES = 64 * 1024;
const PAUSE_MS = 50;

/** One user's sign-out of any number of sessions never closes a reader of the session revocation feed. */
describe('10,000 sessions of one user that end at once', () => {
  const ends: (() => void)[] = [];
  const user = randomUUID();
  const sql = (text: string, values: unknown[] = []) => query(service.databaseUrl, text, values);

  const service = use(() => startTestService({ SERVICE_KEYS: `read:${KEY}` }));
  beforeEach(async () => {
    await sql('TRUNCATE refresh_tokens');
    await sql(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), '\\x00', now() + interval '1 day' FROM generate_series(1, $2)`,
      [user, SESSIONS],
    );
  });
  afterEach(() => ends.splice(0).forEach((end) => end()));

  async function read(): Promise<EventStreamReader> {
    const reader = await EventStreamReader.open(service.url, KEY);
    ends.push(() => reader.close());
    await until(() => reader.isReady);
    return reader;
  }
  /** Reads on, but never fast. */
  function throttle({ response }: EventStreamReader): void {
    let rest = BYTES;
    response.on('data', (chunk: string) => {
      rest -= chunk.length;
      if (rest > 0) return;
      rest = BYTES;
      response.pause();
      setTimeout(() => response.resume(), PAUSE_MS);
    });
  }
  const endAll = () =>
    sql(
      `UPDATE refresh_tokens SET signed_out_at = now(), expires_at = now()
       WHERE user_id = $1`,
      [user],
    );

  it('are told to all readers, slow ones included; none is closed', async () => {
    const [quick, slow, late] = [await read(), await read(), await read()];
    throttle(slow);
    late.stopReading();
    await endAll();
    await until(() => quick.sessions.length >= SESSIONS);
    late.readAgain();
    for (const reader of [slow, late]) await until(() => reader.sessions.length >= SESSIONS);
    for (const reader of [quick, slow, late]) {
      expect(new Set(reader.sessions).size).toBe(SESSIONS);
      const from = reader.readings.length;
      await until(() => reader.readings.length > from + 1); // the feed continues
      expect(reader.response.destroyed).toBe(false);
    }
  });

  it('are known to @latchkey/server, which stays connected', async () => {
    const warnings: string[] = [];
    const verifier = new Verifier({
      issuer: service.settings.publicUrl,
      url: service.url,
      serviceKey: KEY,
      onWarning: (line) => warnings.push(line),
    });
    ends.push(() => verifier.close());
    await until(() => verifier.isNotified);
    const { size } = (verifier as unknown as { ended: { size: number } }).ended;
    expect(size).toBeLessThan(SESSIONS);
    await endAll();
    await until(() => (verifier as unknown as { ended: { size: number } }).ended.size >= SESSIONS);
    await until(() => verifier.isNotified);
    expect(warnings).toEqual([]);
  });

  it('are read in pages by an index, each session once, also where all ended at one moment, beside those of others', async () => {
    await sql(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
       SELECT gen_random_uuid(), gen_random_uuid(), '\\x00', at, at
       FROM generate_series(1, 50000) i, LATERAL (SELECT now() - interval '1 hour' - i * interval '1 ms') AS t (at)`,
    );
    await endAll();
    await sql('ANALYZE refresh_tokens');
    const database = service.app.get(Sql);
    const all: [Statement, unknown[]][] = [];
    const spy = {
      query: (...call: [Statement, unknown[]]) => (all.push(call), database.query(...call)),
    } as unknown as Sql;
    const store = new SessionFeedStore(spy, new ClaimsChangesStore(spy));
    const moment = await store.moment();
    const found: string[] = [];
    const range = { from: toTime(toMs(moment.at) - 300_000), to: 'infinity', until: moment.until };
    for await (const { ended = [] } of store.pages(range))
      found.push(...ended.map(({ sessionId }) => sessionId));
    const asked = all.filter(([{ name }]) => name === 'ended-sessions');
    expect([found.length, new Set(found).size, asked.length]).toEqual([SESSIONS, SESSIONS, 11]);
    const [{ text }, values] = asked[5]!;
    const plan = await sql(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, values);
    const lines = plan.map((row) => String(row['QUERY PLAN'])).join('\n');
    expect(lines).toContain('Index Scan using refresh_tokens_signed_out on refresh_tokens');
    expect(lines).not.toContain('Sort');
    expect(Number(/Rows Removed by Filter: (\d+)/.exec(lines)?.[1] ?? 0)).toBeLessThan(10);
  });
});
