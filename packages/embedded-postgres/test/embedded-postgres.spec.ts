import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../src/platform/database/pool/data-source.js';
import { postgresAccount } from '../src/system-account.js';
import { postgresBinaries } from '../src/binaries.js';
import { runningEmbeddedPostgres } from '../src/embedded-postgres.js';
import { freePort } from '../src/address.js';
import { isAlive, readPostmaster } from '../src/postmaster.js';
import { startServer } from '../src/server.js';
import { forkEmbedded } from './support/embedded-process.js';
import { Starts } from './support/starts.js';
import { query } from '../../../test/support/database.js';

// Most tests share one directory: the first start in it is slow.
const ROOM = mkdtempSync(join(tmpdir(), 'latchkey-embedded-'));
const SHARED = join(ROOM, 'shared');
let dataDir: string;
let cluster: string;
const starts = new Starts();

beforeAll(() => chmodSync(ROOM, 0o711));
afterAll(() => rmSync(ROOM, { recursive: true, force: true }));

beforeEach(() => use(SHARED));
afterEach(() => starts.stop());

function use(directory: string): void {
  dataDir = directory;
  cluster = join(directory, 'postgres');
}

const start = () => starts.start({ dataDir });
const startProcess = async () => starts.add(await forkEmbedded(dataDir));

/** Waits until the condition, which another process makes true, holds. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

const KEEP = 'DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS answer';
const STORED = [{ answer: 42 }];

const pidOf = (path: string) => readPostmaster(path)!.pid;

describe('an embedded PostgreSQL', () => {
  it('is durable, and keeps its data from one start to the next', async () => {
    const first = await start();
    const names = ['fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums'];
    for (const name of names) expect(await query(first.url, `SHOW ${name}`)).toEqual([{ [name]: 'on' }]);
    await query(first.url, KEEP);
    await first.stop();
    const second = await start();
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual(STORED);
    expect(starts.log).toEqual([]);
  });

  it('stops at once even if clients are connected, and leaves neither a process nor postmaster.pid', async () => {
    const database = await start();
    const pid = pidOf(cluster);
    const busy = query(database.url, 'SELECT pg_sleep(60)').catch((error: unknown) => error);
    await database.stop();
    expect(await busy).toMatchObject({ message: expect.any(String) });
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(cluster, 'postmaster.pid'))).toBe(false);
  });

  it('keeps the password and the environment from its processes', async () => {
    const owner = await startProcess();
    const { password } = new URL(owner.url);
    expect(password.length).toBeGreaterThanOrEqual(32);
    expect(statSync(join(cluster, 'service-password')).mode & 0o777).toBe(0o600);
    if (process.platform !== 'linux') return;
    const seen = ['cmdline', 'environ']
      .map((file) => readFileSync(`/proc/${pidOf(cluster)}/${file}`, 'utf8'))
      .join();
    expect(seen).toContain(cluster);
    expect(seen).not.toContain(password);
    expect(seen).not.toContain('canary-of-the-environment');
  });
});

// Each would break `pg` or PostgreSQL, or change results.
const OF_THE_SHELL = {
  PGHOST: '203.0.113.1',
  PGPORT: '1',
  PGUSER: 'postgres',
  PGPASSWORD: 'wrong',
  PGDATABASE: 'template1',
  PGSSLMODE: 'require',
  PGOPTIONS: '-c default_transaction_isolation=serializable -c search_path=pg_catalog',
  PGCLIENT_ENCODING: 'LATIN1',
  PGDATA: '/nowhere',
  TZ: 'Asia/Tokyo',
  LC_ALL: 'tr_TR.UTF-8',
};

describe('variables of the shell', () => {
  afterEach(() => {
    for (const name of Object.keys(OF_THE_SHELL)) delete process.env[name];
  });

  it('change nothing, at the first start and later, for any client of the URL', async () => {
    use(join(ROOM, 'shell'));
    Object.assign(process.env, OF_THE_SHELL);
    for (let time = 0; time < 2; time++) {
      const server = await start();
      const { url } = server;
      const settings = ['default_transaction_isolation', 'search_path', 'TimeZone', 'lc_messages'];
      const sql = `SELECT current_user::text AS name, pg_encoding_to_char(encoding) AS encoding,
        ${settings.map((setting) => `current_setting('${setting}') AS ${setting.toLowerCase()}`).join()}
        FROM pg_database WHERE datname = current_database()`;
      const expected = {
        name: 'latchkey',
        encoding: 'UTF8',
        default_transaction_isolation: 'read committed',
        search_path: '"$user", public',
        timezone: 'UTC',
        lc_messages: 'C',
      };
      expect(await query(url, sql)).toEqual([expected]);
      const dataSource = await new DataSource(dataSourceOptions(url, 1)).initialize();
      expect(await dataSource.query(sql)).toEqual([expected]);
      await dataSource.destroy();
      expect(await query(runningEmbeddedPostgres(dataDir)!, sql)).toEqual([expected]);
      await server.stop();
    }
  });
});

describe('DATA_DIR', () => {
  it.each([
    ['special characters', ` $HOME $(exit 1) \`exit 1\` 'a"b\\c %s%41 é漢🔑 *?[a]~#;&|<>! \t`],
    ['a leading dash', '-D'],
  ])('may have %s in its path', async (_, name) => {
    use(join(ROOM, name));
    const { url } = await start();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it.each([
    ['a line break', 'a\nb'],
    ['more bytes than PostgreSQL takes', Array.from('yyyyy', (y) => y.repeat(200)).join('/')],
  ])('with %s is refused, in a sentence that says what to do', async (_, name) => {
    use(join(ROOM, name));
    await expect(start()).rejects.toThrow(
      /^[^\r\n]*PostgreSQL cannot use the directory ".*": choose a DATA_DIR .* DATABASE_URL\.$/,
    );
  });
});

describe('when something is killed', () => {
  const onLinux = process.platform === 'linux'; // elsewhere, the next start stops the server
  it('the service: it takes the server along, and the next start has all the data', async () => {
    const killed = await startProcess();
    const pid = pidOf(cluster);
    await query(killed.url, KEEP);
    killed.child.kill('SIGKILL');
    await once(killed.child, 'exit');
    if (onLinux) await until(() => !isAlive(pid));
    const { url } = await start();
    expect(await query(url, 'SELECT answer FROM kept')).toEqual(STORED);
  });

  it('the service, where the server lives on: the next start replaces it', async () => {
    const first = await start();
    await query(first.url, KEEP);
    await first.stop();
    const account = postgresAccount();
    const binaries = postgresBinaries(account, () => dataDir);
    const orphan = await startServer({ binaries, account, path: cluster, port: await freePort() });
    const next = await start();
    expect(orphan.running()).toBe(false);
    expect(await query(next.url, 'SELECT answer FROM kept')).toEqual(STORED);
    expect(starts.log).toEqual([expect.stringContaining(`process ${orphan.pid}`)]);
  });

  it('the server: it is started again at the same address', async () => {
    const { url } = await start();
    await query(url, KEEP);
    const back = starts.line(/is back/);
    process.kill(pidOf(cluster), 'SIGKILL');
    await back;
    expect(await query(url, 'SELECT answer FROM kept')).toEqual(STORED);
  });

  it.each(['at once', 'while it starts again'])(
    'the server, and the service stops %s: nothing is left',
    async (when) => {
      const first = await start();
      const killed = pidOf(cluster);
      process.kill(killed, 'SIGKILL');
      if (when !== 'at once') await until(() => (readPostmaster(cluster)?.pid ?? killed) !== killed);
      const last = pidOf(cluster);
      await first.stop();
      await expect(query(first.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ENOENT' });
      expect(isAlive(last)).toBe(false);
    },
  );

  it('a backend: the service still owns its data', async () => {
    const { url } = await start();
    const back = starts.line(/is back/);
    const client = new Client(url);
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]!.pid, 'SIGKILL');
    await back;
    await expect(start()).rejects.toThrow(/another running service owns/);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('the machine, and another process now has the number of the server: the next start works', async () => {
    await (await start()).stop();
    const account = postgresAccount();
    const stranger = spawn('sleep', ['60'], { ...account, stdio: 'ignore' });
    const file = join(cluster, 'postmaster.pid');
    writeFileSync(
      file,
      [stranger.pid, cluster, 1, 5432, '', '127.0.0.1', '  1 1', 'ready   ', ''].join('\n'),
    );
    if (account) chownSync(file, account.uid, account.gid);
    try {
      const { url } = await start();
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });
});

// Another program may replace a file after refuseSpecialFiles.
describe('a server that waits for a named pipe in place of its configuration', () => {
  const hang = async (file: string, options: Partial<Parameters<typeof startServer>[0]>): Promise<Error> => {
    use(mkdtempSync(join(ROOM, 'hangs-')));
    await (await start()).stop();
    const path = join(cluster, file);
    rmSync(path);
    execFileSync('mkfifo', ['-m', '644', path]);
    const account = postgresAccount();
    const binaries = postgresBinaries(account, () => dataDir);
    const starting = startServer({ binaries, account, path: cluster, port: await freePort(), ...options });
    return starting.then(
      () => new Error('it runs'),
      (error: Error) => error,
    );
  };

  it('is killed, and the start says why', async () => {
    const { message } = await hang('pg_hba.conf', { silenceMs: 1000 });
    expect(message).toMatch(/^PostgreSQL hung for 1 s and was killed: see whether a file in .*named pipe$/);
    const left = readPostmaster(cluster);
    expect(left === undefined || !isAlive(left.pid)).toBe(true);
  });

  it('is killed if the start is called off', async () => {
    expect((await hang('postgresql.conf', { signal: AbortSignal.timeout(500) })).message).toBe('SIGKILL');
  });
});

describe('two services with one directory', () => {
  it('the second one is refused, and the first one continues', async () => {
    const first = await startProcess();
    const pid = pidOf(cluster);
    const second = await startProcess();
    expect(second.error).toMatch(
      /another running service owns the database in .*choose another DATA_DIR.*DATABASE_URL/,
    );
    expect(second.error).not.toContain(new URL(first.url).password);
    expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(pidOf(cluster)).toBe(pid);
    expect(await first.stop()).toBe(0);
  });

  it('of two first starts at once, one becomes the owner', async () => {
    use(join(ROOM, 'contested'));
    const both = await Promise.all([startProcess(), startProcess()]);
    const owners = both.filter(({ url }) => url);
    expect(owners).toHaveLength(1);
    expect(await query(owners[0]!.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
