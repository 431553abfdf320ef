import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import request from 'supertest';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.js';
import { createDatabase, createEmptyDatabase, dump, query } from '../support/database.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { KEYS, latchkeyCommand, startServiceProcess, withoutProgress } from '../support/service-process.js';
import { bearer, insertSessions, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { waiting } from '../support/waiting.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

const endings = new Endings();
afterEach(() => endings.run());

const move = (env: Record<string, string>, ...args: string[]) =>
  latchkeyCommand(env, tmpdir(), 'move-database', ...args);

async function databaseFor(create: typeof createEmptyDatabase): Promise<string> {
  return endings.after(await create(), (database) => database.close()).url;
}

/** All rows but those of access tokens. */
async function rowsOf(url: string): Promise<string> {
  const rows = await dump(url);
  return rows.replaceAll(/^access_tokens .*\n/gm, '');
}

describe('from the embedded database', () => {
  it('to an own PostgreSQL: sessions, devices, history, audit trail and directory go on there', async () => {
    const DATA_DIR = mkdtempSync(join(tmpdir(), 'lk-'));
    endings.after(DATA_DIR, () => rmSync(DATA_DIR, { recursive: true, force: true }));
    chmodSync(DATA_DIR, 0o711);
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const env = { ...provider.env(), ...DIRECTORY_ENV, PUBLIC_URL: 'http://localhost:9' };

    const first = await startServiceProcess({ ...env, DATA_DIR });
    endings.after(first, (one) => one.end('SIGTERM'));
    const directoryId = await new DirectoryClient(first).create('/Users', {
      userName: 'ada',
      active: true,
    });
    const deviceId = randomUUID();
    const tokens = await signIn(first.url, 'ada', { device_id: deviceId, device_name: 'Phone\t\\.\nof Ada' });
    for (const event of ['one', 'two'])
      await bearer(first.url, KEYS.SERVICE_KEYS)
        .post('/push', { user_id: tokens.user_id, event })
        .expect(202);

    const target = await databaseFor(createEmptyDatabase);
    const early = await move({ ...KEYS, DATA_DIR }, target);
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('a service is running') });
    expect(await query(target, `SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
    expect(await first.end('SIGTERM')).toBe(0);

    const moved = await move({ ...KEYS, DATA_DIR }, target);
    expect(moved).toMatchObject({ code: 0, stderr: '' });
    expect(moved.stdout).toMatch(
      /^Copied \d+ rows of \d+ tables in \d+ s\.\nDone: set DATABASE_URL .*\nMove \/.*\/postgres away: /,
    );
    const source = await startEmbeddedPostgres({ dataDir: DATA_DIR, log: () => undefined });
    endings.after(source, (one) => one.stop());
    expect(await rowsOf(target)).toBe(await rowsOf(source.url));

    const second = await startServiceProcess({ ...env, DATABASE_URL: target });
    endings.after(second, (one) => one.end('SIGTERM'));
    const { body } = await request(second.url)
      .post('/oauth2/refresh')
      .send({ refresh_token: tokens.refresh_token })
      .expect(200);
    const { access_token: token } = body as Tokens;
    const { body: devices } = await bearer(second.url, token).get('/devices').expect(200);
    expect(devices).toMatchObject({ devices: [{ device_id: deviceId, device_name: 'Phone\t\\.\nof Ada' }] });
    const socket = await SocketClient.connect(second.url, token, { offset: 0 });
    endings.after(socket, (one) => one.close());
    await socket.until(() => socket.of('one').length + socket.of('two').length === 2);
    await new DirectoryClient(second).send('GET', `/Users/${directoryId}`).expect(200);
    const { body: trail } = await bearer(second.url, KEYS.SERVICE_KEYS)
      .get('/audit?event=sign_in')
      .expect(200);
    expect(trail).toMatchObject({ events: [{ user_id: tokens.user_id }] });
  });
});

describe('from one PostgreSQL to another', () => {
  let source: string;
  let target: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    source = await databaseFor(createDatabase);
    target = await databaseFor(createEmptyDatabase);
    await insertSessions(source, 3);
    env = { ...KEYS, DATABASE_URL: source };
  });

  /** Fails with one sentence, and leaves both databases as they are. */
  async function expectRefusal(sentence: string, ...args: string[]): Promise<void> {
    const before = [await dump(source), await dumpIfMade(target)];
    const { code, stdout, stderr } = await move(env, ...(args.length > 0 ? args : [target]));
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
    expect(stderr).toMatch(/^move-database: [^\n]+; nothing was copied\n$/);
    expect([await dump(source), await dumpIfMade(target)]).toEqual(before);
  }

  /** `dump` needs a table. */
  async function dumpIfMade(url: string): Promise<string> {
    const [row] = await query<{ made: boolean }>(url, `SELECT to_regclass('migrations') IS NOT NULL AS made`);
    return row!.made ? (await dump(url)).replaceAll(/^migrations .*\n?/gm, '') : '';
  }

  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  /** Applies the migrations to the target, as an interrupted copy leaves it. */
  async function makeTables(): Promise<void> {
    const other = await databaseFor(createDatabase);
    expect(await move({ ...KEYS, DATABASE_URL: other }, target)).toMatchObject({ code: 0 });
  }

  it('copies every row, also into tables that an interrupted copy has left, and reads the URL from standard input', async () => {
    await makeTables();
    const child = spawn(process.execPath, [MAIN, 'move-database', '-'], {
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], ...env },
    });
    child.stdin.end(`${target}\n`);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect([stdout, withoutProgress(stderr)]).toEqual([expect.stringContaining('Copied 3 rows of '), '']);
    expect(await dump(target)).toBe(await dump(source));
    const indexes = `SELECT pg_get_indexdef(indexrelid) AS definition, indisvalid FROM pg_index
      WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) ORDER BY 1`;
    expect(await query(target, indexes)).toEqual(await query(source, indexes));
  });

  it('with a wrong URL, or without one, is wrong usage; the URL is not shown', async () => {
    const wrong = await move(env, 'http://ada:hidden@localhost/x');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('the URL is not a URL that begins'),
    ]);
    expect(wrong.stderr).not.toContain('hidden');
    expect(await move(env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^Usage: latchkey move-/),
    });
  });

  it('refuses a target with rows, also the source', async () => {
    await makeTables();
    await query(target, `INSERT INTO channels VALUES ('${randomUUID()}', 1)`);
    await expectRefusal('target: the database is not empty (channels has rows): name an empty database');
    await expectRefusal('target: the database is not empty', source);
  });

  it('refuses a target with tables of another application', async () => {
    await query(target, 'CREATE TABLE users (id int)');
    await expectRefusal('target: the database cannot be used: relation "users" already exists');
  });

  it('refuses a target of an old PostgreSQL, of another encoding, and one that is not there', async () => {
    await query(
      target,
      `CREATE SCHEMA old; CREATE FUNCTION old.current_setting(name text) RETURNS text LANGUAGE sql
       AS $$ SELECT CASE name WHEN 'server_version' THEN '14.22' ELSE pg_catalog.current_setting(name) END $$;
       ALTER DATABASE ${nameOf(target)} SET search_path = old, pg_catalog`,
    );
    await expectRefusal('target: the database is of PostgreSQL 14.22, and the service needs 15 or newer');

    const latin = `${nameOf(target)}_latin`;
    const server = `${process.env['TEST_DATABASE_SERVER']}`;
    await query(
      `${server}postgres`,
      `CREATE DATABASE ${latin} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
    );
    endings.after(latin, () => query(`${server}postgres`, `DROP DATABASE ${latin} WITH (FORCE)`));
    await expectRefusal('target: the database cannot be used: its encoding is LATIN1', server + latin);

    const schemaless = `${target}?options=${encodeURIComponent('-c search_path=nowhere')}`;
    await expectRefusal('target: the database cannot be used: no schema has been selected', schemaless);

    const unreachable = 'target: the database was not usable within 3 s: no database at 127.0.0.1:1: ';
    await expectRefusal(unreachable, 'postgres://ada:hidden@127.0.0.1:1/latchkey');
  });

  it('refuses --distribute without a cluster', () =>
    expectRefusal('target: this database is no Citus cluster', target, '--distribute'));

  it('copies nothing if the disk is full, or if the target stores other rows', async () => {
    await makeTables();
    await query(
      target,
      `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
       CREATE TRIGGER spoil BEFORE INSERT ON refresh_tokens FOR EACH ROW EXECUTE FUNCTION spoil()`,
    );
    await expectRefusal('of 3 rows of refresh_tokens 0 were stored');
    await query(
      target,
      `CREATE OR REPLACE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql
       AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`,
    );
    await expectRefusal('the disk of the database is full');
  });

  it('refuses while an instance is connected to the source or the target', async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const service = await startServiceProcess({ ...provider.env(), DATABASE_URL: source });
    endings.after(service, (one) => one.end('SIGTERM'));
    const running = await move(env, target);
    expect(running).toMatchObject({ code: 1, stdout: '' });
    expect(running.stderr).toMatch(
      /source: the service uses the database \(\d+ connections?\): stop all instances/,
    );
    const elsewhere = await databaseFor(createDatabase);
    const other = await move({ ...KEYS, DATABASE_URL: elsewhere }, source);
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('target: the service uses') });
  });

  describe('during the copy', () => {
    beforeEach(async () => {
      await makeTables();
      await query(
        target,
        `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN PERFORM pg_advisory_xact_lock(75); RETURN NEW; END $$;
         CREATE TRIGGER wait BEFORE INSERT ON refresh_tokens FOR EACH ROW EXECUTE FUNCTION wait()`,
      );
    });

    /** Begins a copy, which waits at its first row until it is released. */
    async function whileWaiting() {
      const held = new Client(target);
      await held.connect();
      endings.after(held, (one) => one.end());
      await held.query('SELECT pg_advisory_lock(75)');
      const child = spawn(process.execPath, [MAIN, 'move-database', target], {
        cwd: tmpdir(),
        env: { PATH: process.env['PATH'], ...env },
      });
      const said = text(child.stderr).then(withoutProgress);
      await waiting(target, [1, 'COPY']);
      return { child, said, release: () => held.query('SELECT pg_advisory_unlock(75)') };
    }

    it.each(['SIGINT', 'SIGKILL'] as const)(
      'a %s leaves the source untouched and the target without rows, and the copy can be repeated',
      async (signal) => {
        const before = await dump(source);
        const { child, said, release } = await whileWaiting();
        child.kill(signal);
        expect(await said).toBe(
          signal === 'SIGINT' ? 'move-database: interrupted; nothing was copied\n' : '',
        );
        await release();
        await query(target, 'DROP FUNCTION wait CASCADE'); // waits for the end of the transaction
        expect(await query(target, 'SELECT FROM refresh_tokens')).toEqual([]);
        expect(await dump(source)).toBe(before);
        expect(await move(env, target)).toMatchObject({ code: 0 });
        expect(await dump(target)).toBe(before);
      },
    );

    it('no instance can write into the target; one at the source prevents the end of the copy', async () => {
      const { said, release } = await whileWaiting();
      const locks = await query(
        target,
        `SELECT DISTINCT relation::regclass::text AS name FROM pg_locks WHERE mode = 'AccessExclusiveLock'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation IS NOT NULL`,
      );
      expect(locks).toEqual(expect.arrayContaining([{ name: 'users' }, { name: 'signing_keys' }]));
      const instance = new Client({ connectionString: source, application_name: 'latchkey' });
      await instance.connect();
      endings.after(instance, (one) => one.end());
      await release();
      expect(await said).toBe(
        'move-database: source: the service uses the database (1 connection): stop all instances first; nothing was copied\n',
      );
      expect(await query(target, 'SELECT FROM refresh_tokens')).toEqual([]);
    });
  });
});
