import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../src/database/data-source.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../src/embedded-postgres.js';
import { postgresAccount } from '../src/system-account.js';
import { postgresBinaries } from '../src/binaries.js';
import { runAsSuperuser } from '../src/single-user.js';
import { isAlive, readPostmaster } from '../src/postmaster.js';
import { Cluster010, type Server010 } from './support/cluster-0-1-0.js';
import { forkEmbedded, forkOwner, type EmbeddedProcess } from './support/embedded-process.js';
import { query } from '../../../test/support/query.js';
import { startServiceProcess } from '../../../test/support/service-process.js';
import { signIn } from '../../../test/support/sign-in.js';
import { StubProvider } from '../../../test/support/stub-provider.js';

const ROOM = mkdtempSync(join(tmpdir(), 'latchkey-role-'));
const started: { stop(): Promise<unknown> }[] = [];
let made = 0;

beforeAll(() => chmodSync(ROOM, 0o711));
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop();
});
afterAll(() => rmSync(ROOM, { recursive: true, force: true }));

const fresh = () => join(ROOM, String(++made));

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const database = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  started.push(database);
  return database;
}

async function startProcess(dataDir: string): Promise<EmbeddedProcess> {
  const owner = await forkEmbedded(dataDir);
  started.push(owner);
  return owner;
}

async function run(cluster: Cluster010): Promise<Server010> {
  const server = await cluster.start();
  started.push(server);
  return server;
}

/** Waits for the end of a server that had only just started when its service was killed. */
async function runSoon(cluster: Cluster010): Promise<Server010> {
  for (;;) {
    const server = await run(cluster).catch(() => delay(20));
    if (server) return server;
  }
}

/** The URL of the same database for another user. */
function as(user: string, url: string, database = 'latchkey'): string {
  const other = new URL(url);
  other.username = user;
  other.pathname = database;
  return other.href;
}

/** Everything in the database, except extensions and their contents, that the role `latchkey` does not own. */
function foreign(url: string): Promise<unknown[]> {
  return query(
    url,
    `WITH objects (what, id, owner, schema) AS (
       SELECT 'database', oid, datdba, NULL FROM pg_database WHERE datname = current_database()
       UNION ALL SELECT 'schema ' || nspname, oid, nspowner, oid FROM pg_namespace
       UNION ALL SELECT 'relation ' || relname, oid, relowner, relnamespace FROM pg_class
       UNION ALL SELECT 'type ' || typname, oid, typowner, typnamespace FROM pg_type
       UNION ALL SELECT 'routine ' || proname, oid, proowner, pronamespace FROM pg_proc
        WHERE NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'i')
     )
     SELECT what, owner::regrole::text FROM objects
      WHERE owner <> 'latchkey'::regrole
        AND (schema IS NULL OR schema::regnamespace::text !~ '^(pg_|information_schema)')
        AND id NOT IN (SELECT objid FROM pg_depend WHERE deptype = 'e')
        AND NOT EXISTS (SELECT FROM pg_type t JOIN pg_depend d ON d.objid = t.typelem AND d.deptype = 'e' WHERE t.oid = id)`,
  );
}

const RIGHTS = `SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin
                  FROM pg_roles WHERE rolname = current_user`;
const FEWEST = {
  rolsuper: false,
  rolcreatedb: false,
  rolcreaterole: false,
  rolreplication: false,
  rolbypassrls: false,
  rolcanlogin: true,
};

/** What must be true of a current cluster, however it was made. */
async function expectToday({ url }: { url: string }): Promise<void> {
  expect(await query(url, 'SELECT current_user::text AS name')).toEqual([{ name: 'latchkey' }]);
  expect(await query(url, RIGHTS)).toEqual([FEWEST]);
  expect(await foreign(url)).toEqual([]);
  for (const database of ['latchkey', 'postgres', 'template1']) {
    await expect(query(as('postgres', url, database), 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  }
}

describe("the service's role", () => {
  let url: string;
  let database: EmbeddedPostgres;
  beforeAll(async () => {
    database = await startEmbeddedPostgres({ dataDir: fresh(), log: () => undefined });
    ({ url } = database);
  });
  afterAll(() => database.stop());

  it('may log in, and owns its database and nothing else; its password does not open the superuser', async () => {
    await expectToday({ url });
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    wrong.username = 'postgres';
    for (const password of ['wrong', '']) {
      wrong.password = password;
      await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password/);
    }
  });

  it.each([
    'SET ROLE postgres',
    'SET SESSION AUTHORIZATION postgres',
    'ALTER ROLE latchkey SUPERUSER',
    `ALTER ROLE postgres PASSWORD 'x'`,
    'CREATE ROLE other',
    'CREATE DATABASE other',
    'GRANT pg_execute_server_program TO latchkey',
    `COPY (SELECT 1) TO PROGRAM 'cat'`,
    `COPY pg_class TO '/tmp/never'`,
    `SELECT pg_read_file('service-password')`,
    `SELECT lo_import('/etc/passwd')`,
    'SELECT rolpassword FROM pg_authid',
    `ALTER SYSTEM SET listen_addresses = '*'`,
    'CREATE EXTENSION dblink',
    `CREATE FUNCTION run(text) RETURNS int AS 'libc', 'system' LANGUAGE c`,
    'DROP DATABASE postgres',
  ])('may not: %s', async (sql) => {
    await expect(query(url, sql)).rejects.toMatchObject({ code: '42501' }); // insufficient_privilege
  });
});

// Made by the superuser in the service's database, as a restored dump would be.
const RESTORED = `
  CREATE TABLE public.serial_one (id serial PRIMARY KEY, note text);
  CREATE TABLE public.identity_one (id int GENERATED ALWAYS AS IDENTITY);
  INSERT INTO public.serial_one (note) SELECT 'note ' || i FROM generate_series(1, 1000) i;
  CREATE SCHEMA "Odd ""one""";
  CREATE TABLE "Odd ""one"""."Table; --" (id int PRIMARY KEY, t text);
  CREATE INDEX ON "Odd ""one"""."Table; --" (t);
  CREATE TABLE public.parts (id int) PARTITION BY LIST (id);
  CREATE TABLE public.part PARTITION OF public.parts FOR VALUES IN (1);
  CREATE VIEW public.a_view AS SELECT 1 AS one;
  CREATE MATERIALIZED VIEW public.a_matview AS SELECT 1 AS one;
  CREATE SEQUENCE public.a_sequence;
  CREATE TYPE public.an_enum AS ENUM ('a');
  CREATE TYPE public.a_composite AS (a int);
  CREATE TYPE public.a_range AS RANGE (subtype = float8);
  CREATE DOMAIN public.a_domain AS text;
  CREATE FUNCTION public.a_function(int, text[]) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
  CREATE PROCEDURE public.a_procedure() LANGUAGE sql AS 'SELECT 1';
  CREATE AGGREGATE public.an_aggregate (int) (SFUNC = int4pl, STYPE = int);
  CREATE EXTENSION citext;`;

describe('a directory of 0.1.0', () => {
  let original: Cluster010;
  beforeAll(async () => {
    original = await Cluster010.make(fresh());
    const server = await original.start();
    await query(server.superuserUrl('latchkey'), RESTORED);
    await query(server.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await server.stop();
  });

  const copy = () => original.copyTo(fresh());

  async function expectUpgraded(cluster: Cluster010, { url }: { url: string }): Promise<void> {
    await expectToday({ url });
    expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    expect(await query(url, 'SELECT count(*)::int AS n FROM serial_one')).toEqual([{ n: 1000 }]);
    expect(existsSync(join(cluster.path, 'latchkey-password'))).toBe(false);
  }

  it('is upgraded: the superuser loses the password, and what it owned belongs to the service', async () => {
    const cluster = copy();
    const { url } = await start(cluster.dataDir);
    await expectUpgraded(cluster, { url });
    const ofExtensions = `SELECT DISTINCT proowner::regrole::text AS owner FROM pg_proc
                          JOIN pg_depend ON objid = pg_proc.oid AND deptype = 'e'`;
    expect(await query(url, ofExtensions)).toEqual([{ owner: 'postgres' }]);
    await query(url, `ALTER TABLE serial_one ADD more int; INSERT INTO serial_one (note) VALUES ('x')`);
    await query(url, 'DROP TABLE serial_one, parts, identity_one; DROP SCHEMA "Odd ""one""" CASCADE');
  });

  it('runs the service, and signed-in users still are signed in', async () => {
    const provider = await StubProvider.start();
    const cluster = copy();
    const server = await run(cluster);
    try {
      const before = await startServiceProcess({ ...provider.env(), DATABASE_URL: server.url });
      const tokens = await signIn(before.url);
      expect(await before.end('SIGTERM')).toBe(0);
      const dataSource = await new DataSource(dataSourceOptions(server.url, 1)).initialize();
      await dataSource.undoLastMigration(); // so that there is one to run
      await dataSource.destroy();
      await server.stop();

      const after = await startServiceProcess({ ...provider.env(), DATA_DIR: cluster.dataDir });
      await request(after.url).post('/oauth2/refresh').send(tokens).expect(200);
      await signIn(after.url);
      expect(await after.end('SIGTERM')).toBe(0);
      await expectUpgraded(cluster, await start(cluster.dataDir));
    } finally {
      await provider.close();
    }
  });

  describe('with so many objects to hand over that it can be killed in the middle', () => {
    let large: Cluster010;
    beforeAll(async () => {
      large = copy();
      const server = await run(large);
      await query(
        server.superuserUrl('latchkey'),
        `DO $$ BEGIN
           FOR i IN 1..10000 LOOP
             EXECUTE format('CREATE FUNCTION public.f%s() RETURNS int LANGUAGE sql AS ''SELECT 1''', i);
           END LOOP;
         END $$`,
      );
      await server.stop();
    });

    // The first process looks for the database, the second has the transaction.
    const later = process.env['SOAK'] ? [0, 100, 200, 400, 800] : [200];
    it.each([['first', 0] as const, ...later.map((ms) => ['second', ms] as const)])(
      'killed in its %s process, after %d ms: is the old or the new, and upgraded next',
      async (which, ms) => {
        const cluster = large.copyTo(fresh());
        const child = forkOwner(cluster.dataDir);
        const exit = once(child, 'exit');
        const first = await singleUser(cluster);
        if (which === 'second') await singleUser(cluster, first);
        await delay(ms);
        kill(child.pid!);
        const pid = readPostmaster(cluster.path)?.pid; // of the second process, or of the server by now
        if (pid) kill(pid);
        await exit;
        await until(() => !pid || !isAlive(pid));

        const server = await runSoon(cluster);
        const superuser = await query(server.superuserUrl('latchkey'), 'SELECT 1').catch(() => 'refused');
        const others = await foreign(server.url);
        if (superuser === 'refused') expect(others).toEqual([]);
        else expect(others.length).toBeGreaterThan(10_000);
        await server.stop();
        await expectUpgraded(cluster, await start(cluster.dataDir));
      },
    );
  });

  it('killed alone, without the service: the service finishes', async () => {
    const cluster = copy();
    const child = forkOwner(cluster.dataDir);
    const report = once(child, 'message') as Promise<[{ url: string }]>;
    kill(await singleUser(cluster));
    const [{ url }] = await report;
    await expectUpgraded(cluster, { url });
    child.send('stop');
    await once(child, 'exit');
  });

  it('that was killed before its upgrade was recorded: is upgraded again, and nothing changes', async () => {
    const cluster = copy();
    const first = await start(cluster.dataDir);
    await first.stop();
    renameSync(join(cluster.path, 'service-password'), join(cluster.path, 'latchkey-password'));
    const second = await start(cluster.dataDir);
    await expectUpgraded(cluster, second);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it('without the schema `public`: is upgraded', async () => {
    const cluster = copy();
    const server = await run(cluster);
    await query(server.superuserUrl('latchkey'), 'ALTER SCHEMA public RENAME TO private');
    await server.stop();
    const { url } = await start(cluster.dataDir);
    await expectToday({ url });
    expect(await query(url, 'SELECT answer FROM private.kept')).toEqual([{ answer: 42 }]);
  });

  it('whose SQL fails: nothing of it has happened, and the error tells no secret', async () => {
    const cluster = copy();
    const account = postgresAccount(cluster.path);
    const stopped = {
      path: cluster.path,
      account,
      binaries: postgresBinaries(account, () => cluster.dataDir),
    };
    const statements = ['BEGIN', 'CREATE TABLE made ()', `SELECT 'secret' FROM nothing`, 'COMMIT'];
    const failure = await runAsSuperuser(stopped, 'latchkey', statements).catch(inspect);
    expect(failure).toMatch(/relation "nothing" does not exist/);
    expect(failure).not.toContain('secret');
    const { url } = await run(cluster);
    expect(await query(url, `SELECT to_regclass('made') AS made`)).toEqual([{ made: null }]);
  });

  it('that got no further than initdb: gets its role and its database', async () => {
    const cluster = Cluster010.makeHalf(fresh());
    await expectToday(await start(cluster.dataDir));
  });

  it('whose service was killed and left a server behind: is upgraded', async () => {
    const cluster = copy();
    const orphan = await run(cluster);
    await expectUpgraded(cluster, await start(cluster.dataDir));
    expect(isAlive(orphan.child.pid!) && orphan.child.exitCode === null).toBe(false);
  });

  it('whose server was killed: is upgraded, with what it had acknowledged', async () => {
    const cluster = copy();
    const server = await run(cluster);
    await query(server.url, 'CREATE TABLE last AS SELECT 1 AS one');
    await server.stop('SIGKILL');
    const { url } = await start(cluster.dataDir);
    await expectUpgraded(cluster, { url });
    expect(await query(url, 'SELECT one FROM last')).toEqual([{ one: 1 }]);
  });

  it('whose service of 0.1.0 runs: is left alone', async () => {
    const cluster = copy();
    const server = await run(cluster);
    const owner = new Client(server.superuserUrl('postgres'));
    await owner.connect();
    try {
      await owner.query('SELECT pg_advisory_lock(7165934107325010)'); // as 0.1.0 does for as long as it runs
      await expect(start(cluster.dataDir)).rejects.toThrow(/another running service owns/);
      expect(await query(server.superuserUrl('latchkey'), 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await owner.end();
    }
  });

  it('that two start at once: has one owner, and is upgraded', async () => {
    const cluster = copy();
    const both = await Promise.all([startProcess(cluster.dataDir), startProcess(cluster.dataDir)]);
    const owners = both.filter(({ url }) => url);
    expect(owners).toHaveLength(1);
    await expectUpgraded(cluster, owners[0]!);
  });
});

/** The process that runs the cluster's SQL before its server starts. */
async function singleUser({ path }: Cluster010, before?: number): Promise<number> {
  const file = join(path, 'postmaster.pid');
  for (;;) {
    const pid = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0;
    if (pid < 0 && -pid !== before) return -pid;
    await delay(1);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // it has ended by itself
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}
