import { randomBytes, randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, createEmptyDatabase, type TestDatabase, query } from '../support/database.js';
import { hasPgBouncer, PgBouncer } from '../support/pgbouncer.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { needs } from '../support/installed.js';
import { use } from '../support/use.js';

/** Each changes results, fails statements or changes how values are printed. */
const HOSTILE: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  array_nulls: 'off',
  transform_null_equals: 'on',
  standard_conforming_strings: 'off',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  client_min_messages: 'error',
  client_encoding: 'LATIN1',
  xmloption: 'document',
  lock_timeout: '1ms',
  statement_timeout: '30ms',
  idle_session_timeout: '300ms',
  idle_in_transaction_session_timeout: '30ms',
};

describe('settings that a role or a database has for other applications', () => {
  let database: TestDatabase;
  let service: TestService | undefined;
  let pooler: PgBouncer | undefined;
  let role: string | undefined;

  const provider = use(() => StubProvider.start());
  afterEach(async () => {
    await service?.close();
    await pooler?.stop();
    await database.close();
    if (role) await query(serverOf(database), `DROP ROLE ${role}`);
    service = pooler = role = undefined;
  });

  const serverOf = ({ url }: TestDatabase): string => url.replace(/[^/]*$/, 'postgres');
  const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1);
  const set = async (whose: string, settings: Readonly<Record<string, string>>): Promise<void> => {
    const all = Object.entries(settings).map(([name, value]) => `ALTER ${whose} SET ${name} = '${value}'`);
    await query(serverOf(database), all.join('; '));
  };
  const onDatabase = (settings: Readonly<Record<string, string>>): Promise<void> =>
    set(`DATABASE ${nameOf(database)}`, settings);
  async function start(env: Record<string, string> = {}): Promise<TestService> {
    return startTestService({
      ...provider.env(),
      DATABASE_URL: database.url,
      SERVICE_KEYS: SERVICE_KEY,
      ...env,
    });
  }
  /** A role that owns the database and is no superuser. */
  async function ownedBy(settings: Readonly<Record<string, string>>): Promise<string> {
    role = `role_${randomBytes(4).toString('hex')}`;
    await query(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'secret-of-the-role'`);
    await query(database.url, `ALTER DATABASE ${nameOf(database)} OWNER TO ${role}`);
    await query(database.url, `ALTER SCHEMA public OWNER TO ${role}`);
    await set(`ROLE ${role}`, settings);
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'secret-of-the-role'];
    return url.href;
  }

  /** Signs in, lists, pushes sixty times at once, signs out. */
  async function expectServed({ url }: TestService): Promise<void> {
    const device = { device_id: randomUUID(), device_name: 'Laptop – Zoë' };
    const { user_id, refresh_token } = await signIn(url, 'alice', device);
    const { body } = await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    const me = bearer(url, (body as Tokens).access_token);
    const push = async (): Promise<number> => {
      for (;;) {
        const sent = bearer(url, SERVICE_KEY).post('/push', { user_id, event: 'x', data: { é: null } });
        const { status, headers } = await sent;
        if (status !== 500 || headers['retry-after'] === undefined) return status; // else the machine is too busy
      }
    };
    const statuses = await Promise.all(Array.from({ length: 60 }, push));
    expect(new Set(statuses)).toEqual(new Set([202]));
    const { body: list } = await me.get('/devices').expect(200);
    const [listed] = (list as { devices: { device_name: string; created_at: string }[] }).devices;
    expect(listed).toMatchObject({ device_name: 'Laptop – Zoë' });
    expect(Math.abs(Date.parse(listed!.created_at) - Date.now())).toBeLessThan(60_000);
    await me.post('/sign-out', { scope: 'all' }).expect(204);
    await me.get('/me').expect(401);
  }

  it.each(['role', 'URL'])('of a %s change nothing, also for the migrations', async (whose) => {
    database = await createEmptyDatabase();
    let { url } = database;
    if (whose === 'role') {
      url = await ownedBy(HOSTILE);
    }
    if (whose === 'URL') {
      const options = Object.entries(HOSTILE).map(
        ([name, value]) => `-c ${name}=${value.replace(/ /g, '\\ ')}`,
      );
      url += `?options=${encodeURIComponent(options.join(' '))}`;
    }
    service = await start({ DATABASE_URL: url });
    await expectServed(service);
    const used = Object.entries({
      default_transaction_isolation: 'read committed',
      extra_float_digits: '1',
      client_min_messages: 'notice',
      lock_timeout: '0',
      statement_timeout: '950ms',
    });
    const select = used.map(([name]) => `current_setting('${name}') AS ${name}`).join(', ');
    const [row] = await service.app.get(DataSource).query<[object]>(`SELECT ${select}`);
    expect(row).toEqual(Object.fromEntries(used));
  });

  it('of replication, which only a superuser may take back, refuse the start', async () => {
    database = await createEmptyDatabase();
    const url = await ownedBy({ session_replication_role: 'replica' });
    await expect(start({ DATABASE_URL: url })).rejects.toThrow(
      /session_replication_role.*ALTER ROLE … RESET session_replication_role/s,
    );
    expect(await query(database.url, `SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  });

  it('of commits that are not waited for are warned of', async () => {
    database = await createDatabase();
    await onDatabase({ synchronous_commit: 'off' });
    service = await start();
    expect(service.log.join('')).toContain('synchronous_commit is off');
  });

  describe('behind PgBouncer', () => {
    const test = needs({ pgbouncer: hasPgBouncer }).it;

    test('in session mode change nothing, also if it ignores what is sent at the start', async () => {
      database = await createDatabase();
      await onDatabase(HOSTILE);
      const ignored = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout';
      pooler = await PgBouncer.before(database.url, 'session', 30, ignored);
      service = await start({ DATABASE_URL: pooler.url });
      await expectServed(service);
      const [row] = await service.app.get(DataSource).query<[object]>('SHOW statement_timeout');
      expect(row).toEqual({ statement_timeout: '950ms' });
    });

    test('in transaction mode refuse the start', async () => {
      database = await createDatabase();
      await onDatabase({ DateStyle: 'SQL, DMY' });
      pooler = await PgBouncer.before(database.url, 'transaction', 2);
      const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url };
      const sentence = /DateStyle is "SQL, DMY".*ALTER DATABASE … RESET DateStyle/;
      await expect(start({ ...env, DATABASE_POOLER: 'transaction' })).rejects.toThrow(sentence);
    });
  });
});
