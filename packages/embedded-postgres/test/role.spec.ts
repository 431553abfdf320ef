import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../src/embedded-postgres.js';
import { postgresBinaries } from '../src/binaries.js';
import { clusterDirectory } from '../src/cluster-directory.js';
import { ensureCluster, removeOwned } from '../src/cluster.js';
import { isAlive } from '../src/postmaster.js';
import { runAsSuperuser } from '../src/provision.js';
import { forkOwner } from './support/embedded-process.js';
import { Starts } from './support/starts.js';
import { query } from '../../../test/support/database.js';

const ROOM = mkdtempSync(join(tmpdir(), 'latchkey-role-'));
const starts = new Starts();
let made = 0;

beforeAll(() => chmodSync(ROOM, 0o711));
afterEach(() => starts.stop());
afterAll(() => rmSync(ROOM, { recursive: true, force: true }));

const fresh = () => join(ROOM, String(++made));

/** URL of the database for another user. */
function as(user: string, url: string, database = 'latchkey'): string {
  const other = new URL(url);
  other.username = user;
  other.pathname = database;
  return other.href;
}

/** Returns the objects that the role `latchkey` does not own, without objects of extensions. */
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
      WHERE owner NOT IN ('latchkey'::regrole, 'pg_database_owner'::regrole)
        AND (schema IS NULL OR schema::regnamespace::text !~ '^(pg_|information_schema)')
        AND id NOT IN (SELECT objid FROM pg_depend WHERE deptype = 'e')
        AND NOT EXISTS (SELECT FROM pg_type t JOIN pg_depend d ON d.objid = t.typelem AND d.deptype = 'e' WHERE t.oid = id)`,
  );
}

const HAS_MORE_RIGHTS = `
  SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS more
  FROM pg_roles WHERE rolname = current_user`;

/** The rights that the service needs, and no others. */
async function expectFewestRights({ url }: { url: string }): Promise<void> {
  expect(await query(url, 'SELECT current_user::text AS name')).toEqual([{ name: 'latchkey' }]);
  expect(await query(url, HAS_MORE_RIGHTS)).toEqual([{ more: false }]);
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
    await expectFewestRights({ url });
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
    'ALTER ROLE latchkey SUPERUSER',
    'CREATE ROLE other',
    `COPY (SELECT 1) TO PROGRAM 'cat'`,
    `SELECT pg_read_file('service-password')`,
    `ALTER SYSTEM SET listen_addresses = '*'`,
    `CREATE FUNCTION run(text) RETURNS int AS 'libc', 'system' LANGUAGE c`,
  ])('may not: %s', async (sql) => {
    await expect(query(url, sql)).rejects.toMatchObject({ code: '42501' }); // insufficient_privilege
  });
});

describe('a first start', () => {
  it('that is killed while it creates the role: leaves no database, and the next start begins again', async () => {
    const dataDir = fresh();
    mkdirSync(dataDir);
    const child = forkOwner(dataDir);
    const exit = once(child, 'exit');
    let single = singleUserProcess(dataDir);
    for (; single === undefined; single = singleUserProcess(dataDir)) await delay(1);
    child.kill('SIGKILL');
    await exit;
    while (isAlive(single)) await delay(5); // it ends without its parent, a moment later
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    await expectFewestRights(await starts.start({ dataDir }));
    expect(readdirSync(dataDir)).toEqual(['postgres']);
  });

  it('that is killed while initdb writes: its files are removed, though initdb goes on for a moment', async () => {
    const { account } = clusterDirectory(fresh(), () => undefined);
    for (let ms = 0; ms < 800; ms += 50) {
      const dataDir = fresh();
      mkdirSync(dataDir);
      const child = forkOwner(dataDir);
      const exit = once(child, 'exit');
      const unfinished = join(dataDir, `postgres.new-${child.pid}`);
      while (!existsSync(join(unfinished, 'base'))) await delay(1);
      await delay(ms);
      child.kill('SIGKILL');
      await exit;
      removeOwned(unfinished, ms % 100 === 0 ? account : undefined); // root needs no account for it
      expect(existsSync(unfinished)).toBe(false);
    }
  });

  it('whose SQL fails: shows the reason, and no secret', () => {
    const { path, account } = clusterDirectory(fresh(), () => undefined);
    const binaries = postgresBinaries(account, () => ROOM);
    ensureCluster(path, { binaries, account, options: ['--no-sync'] });
    const run = (...sql: string[]): void => runAsSuperuser({ path, account, binaries }, 'postgres', sql);
    expect(() => run('CREATE TABLE made ()', `SELECT 'secret' FROM nothing`, 'SELECT nothing')).toThrow(
      /^FATAL: {2}relation "nothing" does not exist/,
    );
    expect(() => run('SELECT FROM made')).not.toThrow();
  });
});

/** The single-user PostgreSQL that runs in the unfinished cluster: its number in `postmaster.pid` is negative. */
function singleUserProcess(dataDir: string): number | undefined {
  const [unfinished] = readdirSync(dataDir).filter((name) => /^postgres\.new-\d+$/.test(name));
  const file = unfinished && join(dataDir, unfinished, 'postmaster.pid');
  const [, pid] = (file && existsSync(file) && /^-(\d+)/.exec(readFileSync(file, 'utf8'))) || [];
  return pid === undefined ? undefined : Number(pid);
}
