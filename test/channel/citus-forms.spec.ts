import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { CitusChannelHistory } from '../../src/citus/channel.history.js';
import { CitusPushWriter } from '../../src/citus/push-writer.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { Events, type ChannelEvent } from '../../src/platform/events.js';
import { createDatabase, query, unhurried, unhurriedOptions } from '../support/database.js';
import { needs } from '../support/installed.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { prepare, use } from '../support/use.js';

/** On a plain PostgreSQL: the first digit of a user stands for the shard. */
const SHARDS = `
  CREATE FUNCTION get_shard_id_for_distribution_column(text, uuid) RETURNS bigint
  LANGUAGE SQL AS 'SELECT ascii($2::text)::bigint'`;

needs({ 'one PostgreSQL': process.env['CITUS_URL'] === undefined }).describe('the forms for Citus', () => {
  let appended: ChannelEvent[];

  const database = use(() => createDatabase());
  beforeAll(() => query(database.url, SHARDS));
  const dataSource = use(
    () => new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize(),
    (one) => one.destroy(),
  );
  const settings = { channelHistory: 3, databasePoolSize: 4 } as Settings;
  const events = new Events();
  const sql = prepare(() => new Sql(dataSource, true, events));
  beforeAll(() => events.on('channel.appended', (all) => void appended.push(...all)));
  const writer = prepare(() => new CitusPushWriter(sql, settings, dataSource));
  const history = prepare(() => new CitusChannelHistory(dataSource, sql, events, settings));
  beforeEach(() => {
    appended = [];
  });

  async function user(): Promise<string> {
    const userId = randomUUID();
    const text = `INSERT INTO users (user_id, provider, provider_user_id) VALUES ($1::uuid, 'corp', $1::text)`;
    await query(database.url, text, [userId]);
    return userId;
  }
  const event = (name: string, ttl: number, deviceId: string | null = null) => ({
    event: name,
    data: name,
    json: JSON.stringify(name),
    deviceId,
    ttl,
  });
  const to = (userId: string, number = 0) => ({ userId, id: randomUUID(), event: number, online: true });
  const stored = async (userId: string): Promise<unknown[]> => {
    const text =
      'SELECT event_offset::int AS offset, event, data FROM channel_events WHERE user_id = $1 ORDER BY 1';
    return (await query(database.url, text, [userId])).map((row) => Object.values(row));
  };

  it('store pushes, one or many, each in the order of its user', async () => {
    const [ada, bo] = [await user(), await user()];
    expect(await writer.write([event('first', 60)], [to(ada)])).toMatchObject([{ event_offset: '1' }]);
    const pushed = [event('second', 60), event('unstored', 0), event('of a device', 60, randomUUID())];
    const targets = [to(bo), to(ada), to(randomUUID()), to(ada, 1), to(ada), to(bo, 2)];
    const rows = await writer.write(pushed, targets);
    const offsets = rows.map((row) => row && 'event_offset' in row && [row.event_offset, row.online]);
    expect(offsets).toEqual([['1', true], ['2', true], undefined, [null, true], ['3', true], undefined]);
    expect(await stored(ada)).toEqual([
      [1, 'first', '"first"'],
      [2, 'second', '"second"'],
      [3, 'second', '"second"'],
    ]);
    expect(await writer.write([event('unstored', 0)], [to(ada)])).toMatchObject([{ event_offset: null }]);
    expect(await writer.write([event('unstored', 0)], [to(randomUUID())])).toEqual([undefined]);
  });

  it("append the service's own events, and trim the history", async () => {
    const [ada, bo] = [await user(), await user()];
    await query(database.url, 'INSERT INTO channels (user_id, last_offset) VALUES ($1, 97)', [ada]);
    await history.transaction(async ({ append }) => {
      await append('own', [
        [ada, { n: 1 }],
        [ada, { n: 2 }],
      ]);
      await append('each', [
        [ada, {}],
        [bo, {}],
      ]);
    });
    expect(appended.map(({ userId, event: name, offset }) => [userId, name, offset])).toEqual([
      [ada, 'own', 98],
      [ada, 'own', 99],
      [ada, 'each', 100],
      [bo, 'each', 1],
    ]);
    await history.transaction(({ append }) => append('own', [[ada, {}]]));
    expect((await stored(ada)).map((row) => (row as unknown[])[0])).toEqual([98, 99, 100, 101]);
    await query(database.url, 'UPDATE channels SET last_offset = 199 WHERE user_id = $1', [ada]);
    await history.transaction(({ append }) => append('own', [[ada, {}]]));
    expect((await stored(ada)).map((row) => (row as unknown[])[0])).toEqual([200]);
  });

  it('are what a service there is made of', async () => {
    // As the extension does.
    const catalogue = `
      CREATE FUNCTION truncate_local_data_after_distributing_table(regclass) RETURNS void LANGUAGE SQL AS '';
      SET allow_system_table_mods = on; CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass);
      INSERT INTO pg_dist_partition SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`;
    await query(database.url, catalogue);
    const provider = await StubProvider.start();
    const env = { ...provider.env(), SERVICE_KEYS: SERVICE_KEY, DATABASE_URL: unhurried(database.url) };
    const service = await startTestService(env);
    try {
      const { user_id, refresh_token } = await signIn(service.url, 'ada');
      await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
      await bearer(service.url, SERVICE_KEY).post('/push', { user_id, event: 'x' }).expect(202);
    } finally {
      await service.close();
      await provider.close();
    }
  });
});
