import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Client } from 'pg';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { copiedTables } from '../../src/commands/move/copy.js';
import { ENTITIES } from '../../src/entities.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { createDatabase, createEmptyDatabase, dump, query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { EventStreamReader } from '../support/event-stream.js';
import { KEYS, latchkeyCommand, startServiceProcess, withoutProgress } from '../support/service-process.js';
import { claimsOf, insertSessions, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until, waiting } from '../support/waiting.js';
import { useEach } from '../support/use.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

const endings = new Endings();
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lk-'));
  endings.after(folder, () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o711);
  file = join(folder, 'latchkey.backup');
});
afterEach(() => endings.run());

const latchkey = (env: Record<string, string>, ...args: string[]) =>
  latchkeyCommand({ ...KEYS, ...env }, tmpdir(), ...args);

async function databaseFor(create: typeof createEmptyDatabase): Promise<string> {
  return endings.after(await create(), (database) => database.close()).url;
}

const refresh = (url: string, { refresh_token }: Tokens) =>
  request(url).post('/oauth2/refresh').send({ refresh_token });

describe('a backup of the embedded database', () => {
  let env: Record<string, string>;

  const provider = useEach(() => StubProvider.start());
  beforeEach(() => {
    env = { ...provider.env(), PUBLIC_URL: 'http://localhost:9' };
  });

  it('is made beside the running service; restored, all sessions have ended, and the feed reports it', async () => {
    const service = await startServiceProcess({ ...env, DATA_DIR: join(folder, 'data') });
    endings.after(service, (one) => one.end('SIGTERM'));
    const socket = statSync(join(folder, 'data/postgres/.s.PGSQL.5432'));
    expect(socket.mode & 0o777).toBe(0o600);
    const tokens = await signIn(service.url, 'ada');
    const made = await latchkey({ DATA_DIR: join(folder, 'data') }, 'backup', file);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^Done: \d+ rows in \d+ s, in .*\nIt has no SECRET_KEY, /);
    const other = await latchkey(
      { DATA_DIR: join(folder, 'data'), SECRET_KEY: 'a1'.repeat(32) },
      'backup',
      `${file}-of-another-key`,
    );
    expect(other.stderr).toMatch(/^backup: SECRET_KEY is not that of the service, .*; there is no backup\n$/);
    expect(readdirSync(folder)).toHaveLength(2); // the data and the first backup
    await refresh(service.url, tokens).expect(200); // the service has gone on
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const content = gunzipSync(readFileSync(file)).toString('latin1');
    for (const secret of [KEYS.SECRET_KEY, tokens.access_token, tokens.refresh_token])
      expect(content).not.toContain(secret);
    expect(await service.end('SIGTERM')).toBe(0);

    const DATA_DIR = join(folder, 'restored');
    const restored = await latchkey({ DATA_DIR }, 'restore', file);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(
      /^Done: \d+ rows in \d+ s, as they were at 20.*Z\.\nAll sessions were ended \(1\).*\nSuspensions, removals /,
    );
    const after = await startServiceProcess({ ...env, DATA_DIR });
    endings.after(after, (one) => one.end('SIGTERM'));
    expect((await refresh(after.url, tokens)).body).toMatchObject({ error: 'invalid_grant' });
    const feed = await EventStreamReader.open(after.url, KEYS.SERVICE_KEYS);
    endings.after(feed, (one) => one.close());
    await until(() => feed.isReady);
    expect(
      feed.events.filter(({ event }) => event === 'ended').map(({ data }) => data['session_id']),
    ).toEqual([claimsOf(tokens.access_token)['sid']]);
    await signIn(after.url, 'ada');
  });

  it('that is stopped is started for the backup, and stopped again', async () => {
    const DATA_DIR = join(folder, 'data');
    const service = await startServiceProcess({ ...env, DATA_DIR });
    endings.after(service, (one) => one.end('SIGTERM'));
    const tokens = await signIn(service.url, 'ada');
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await latchkey({ DATA_DIR }, 'backup', file)).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(join(DATA_DIR, 'postgres'))).not.toContain('postmaster.pid');

    // Of a restore into it, nothing remains.
    const refused = await latchkey({ DATA_DIR }, 'restore', file);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^restore: the database is not empty \(\w+ has rows\): .*; nothing was restored\n$/,
      ),
    });
    const again = await startServiceProcess({ ...env, DATA_DIR });
    endings.after(again, (one) => one.end('SIGTERM'));
    await refresh(again.url, tokens).expect(200);
    const running = await latchkey({ DATA_DIR }, 'restore', file);
    expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining('a service is running') });
  });
});

describe('a backup of an own PostgreSQL', () => {
  let source: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    source = await databaseFor(createDatabase);
    env = { DATABASE_URL: source };
    await insertSessions(source, 3);
    await query(
      source,
      `INSERT INTO users (user_id, provider, provider_user_id)
       SELECT user_id, 'stub', user_id::text FROM refresh_tokens`,
    );
    // An expired session is not open, and neither is one that was signed out.
    await insertSessions(source, 1);
    await query(
      source,
      `INSERT INTO access_tokens SELECT user_id, session_id, session_id, now(), 'the token' FROM refresh_tokens`,
    );
  });

  const backUp = (more: Record<string, string> = {}) => latchkey({ ...env, ...more }, 'backup', file);
  const restore = (url: string, ...options: string[]) =>
    latchkey({ DATABASE_URL: url }, 'restore', file, ...options);

  it('has every row but those of access tokens; --keep-sessions restores it as it was', async () => {
    expect(await backUp()).toMatchObject({ code: 0, stderr: '' });
    const target = await databaseFor(createEmptyDatabase);
    const { code, stdout } = await restore(target, '--keep-sessions');
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('Sessions that were ended after that time are open'),
    ]);
    const rows = await dump(source);
    expect(rows).toMatch(/^access_tokens /m);
    expect(await dump(target)).toBe(rows.replaceAll(/^access_tokens .*\n/gm, ''));
  });

  it('ends sessions as a sign-out does, and refuses sign-ins that began before', async () => {
    await query(source, `UPDATE refresh_tokens SET id_token = 'a', address = 'a', user_agent = 'a'`);
    expect(await backUp()).toMatchObject({ code: 0 });
    const target = await databaseFor(createEmptyDatabase);
    expect((await restore(target)).stdout).toContain('All sessions were ended (4)');
    const sessions = await query(
      target,
      `SELECT DISTINCT signed_out_at = expires_at AND expires_at > now() - interval '1 hour' AS ended,
         ends_because, id_token, address, user_agent FROM refresh_tokens`,
    );
    expect(sessions).toEqual([
      { ended: true, ends_because: null, id_token: null, address: null, user_agent: null },
    ]);
    expect(await query(target, 'SELECT FROM users WHERE sessions_ended_at IS NULL')).toEqual([]);
  });

  it('never overwrites a file, and leaves none if it fails', async () => {
    writeFileSync(file, 'of somebody');
    const { code, stderr } = await backUp();
    expect([code, stderr]).toEqual([
      1,
      'backup: the file exists, and a backup overwrites none: name another file; there is no backup\n',
    ]);
    expect(readFileSync(file, 'utf8')).toBe('of somebody');
    rmSync(file);
    const { child, said, release } = await whileWaiting('webhooks');
    expect(readdirSync(folder)).toHaveLength(1);
    child.kill('SIGINT');
    expect(await said).toBe('backup: interrupted; there is no backup\n');
    expect(readdirSync(folder)).toEqual([]);
    await release();
  });

  it('is made also if its output is closed (`| head -1`)', async () => {
    const { child, said, release } = await whileWaiting('channels');
    child.stdout.destroy();
    const exit = once(child, 'exit');
    await release();
    expect([await said, await exit]).toEqual(['', [0, null]]);
    expect(readFrames(file).length).toBeGreaterThan(1);
  });

  it('is one snapshot, for which the readers of the service do not wait', async () => {
    const { said, release } = await whileWaiting('channels');
    // The table is read after the one that is locked.
    await query(
      source,
      `INSERT INTO channel_events SELECT user_id, 1, user_id, 'late', '{}', NULL, now(), now() FROM users`,
    );
    const [copying] = await query(
      source,
      `SELECT application_name AS name FROM pg_stat_activity WHERE query LIKE 'COPY%' AND datname = current_database()`,
    );
    expect(copying).toEqual({ name: 'latchkey-copy' });
    await release();
    expect(await said).toBe('');
    const target = await databaseFor(createEmptyDatabase);
    expect(await restore(target)).toMatchObject({ code: 0 });
    expect(await query(target, 'SELECT FROM users')).toHaveLength(3);
    expect(await query(target, 'SELECT FROM channel_events')).toEqual([]);
  });

  /** Begins a backup, which waits for a table until it is released. */
  async function whileWaiting(table: string) {
    const held = new Client(source);
    await held.connect();
    endings.after(held, (one) => one.end());
    await held.query(`BEGIN; LOCK TABLE ${table}`);
    const child = spawn(process.execPath, [MAIN, 'backup', file], {
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], ...KEYS, ...env },
    });
    const said = text(child.stderr).then(withoutProgress);
    await waiting(source, [1, 'COPY']);
    return { child, said, release: () => held.query('ROLLBACK') };
  }

  it('of an earlier version has its tables, which the next start migrates', async () => {
    expect(await backUp()).toMatchObject({ code: 0 });
    const [first, ...rest] = readFrames(file);
    const header = JSON.parse(first!.toString()) as { migrations: string[] };
    const last = header.migrations.pop()!; // of a feature, whose tables the version did not have
    const [tables] = await query<{ names: string[] }>(
      source,
      `SELECT array_agg(tablename::text) AS names FROM pg_tables WHERE tablename LIKE 'directory%'`,
    );
    expect(last).toMatch(/^Scim/);
    writeFrames(file, [Buffer.from(JSON.stringify(header)), ...without(rest, tables!.names)]);

    const newer = await databaseFor(createDatabase);
    expect(await restore(newer)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the database has tables of a newer version: name an empty database'),
    });
    const target = await databaseFor(createEmptyDatabase);
    expect(await restore(target)).toMatchObject({ code: 0, stderr: '' });
    expect(await query(target, 'SELECT name FROM migrations ORDER BY name')).toEqual(
      header.migrations.toSorted().map((name) => ({ name })),
    );
    const service = await startServiceProcess({ DATABASE_URL: target });
    endings.after(service, (one) => one.end('SIGTERM'));
    expect(service.output()).toContain(`The database was migrated: ${last}`);
    expect(await query(target, 'SELECT name FROM migrations WHERE name = $1', [last])).toEqual([
      { name: last },
    ]);
    expect(await query(target, 'SELECT FROM refresh_tokens')).toHaveLength(4);
  });

  describe('is refused, and nothing is restored:', () => {
    let target: string;

    beforeEach(async () => {
      target = await databaseFor(createEmptyDatabase);
      expect(await backUp()).toMatchObject({ code: 0 });
    });

    async function expectRefusal(sentence: string, more: Record<string, string> = {}): Promise<void> {
      const { code, stdout, stderr } = await latchkey({ DATABASE_URL: target, ...more }, 'restore', file);
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: `restore: ${sentence}; nothing was restored\n`,
      });
      const [row] = await query<{ made: boolean }>(target, `SELECT to_regclass('users') IS NOT NULL AS made`);
      if (row!.made) expect(await query(target, 'SELECT FROM users')).toEqual([]);
    }

    it('under another SECRET_KEY', () =>
      expectRefusal('the backup was made with another SECRET_KEY: set that one', {
        SECRET_KEY: 'a1'.repeat(32),
      }));

    it('of a newer version', async () => {
      const [first, ...rest] = readFrames(file);
      const header = JSON.parse(first!.toString()) as { migrations: string[] };
      header.migrations.push('Newer1795824000099');
      writeFrames(file, [Buffer.from(JSON.stringify(header)), ...rest]);
      await expectRefusal(
        'the backup is of version 0.1.0, which is newer than 0.1.0: restore it with that one',
      );
    });

    it('if it is incomplete', async () => {
      const bytes = readFileSync(file);
      const reason = 'the backup is incomplete: it was interrupted, or not copied as a whole';
      for (const left of [20, 8, 1]) {
        writeFileSync(file, bytes.subarray(0, -left)); // 8: the checksum
        await expectRefusal(reason);
      }
      writeFileSync(file, bytes);
      writeFrames(file, readFrames(file).slice(0, -1));
      await expectRefusal(reason);
    });

    it('if it is something else, or not there', async () => {
      const made = readFileSync(file);
      writeFileSync(file, 'PGDMP');
      await expectRefusal('it is no backup of Latchkey, or is damaged');
      writeFileSync(file, gzipSync('PGDMP'.repeat(1000)));
      await expectRefusal('it is no backup of Latchkey, or is damaged');
      writeFileSync(file, Buffer.concat([made, made]));
      await expectRefusal('it is no backup of Latchkey, or is damaged');
      rmSync(file);
      await expectRefusal(`ENOENT: no such file or directory, open '${file}'`);
    });
  });
});

/** Of a backup (src/commands/move/backup-file.ts). */
function readFrames(path: string): Buffer[] {
  const frames: Buffer[] = [];
  const content = gunzipSync(readFileSync(path));
  for (let at = 0; at < content.length;) {
    const end = at + 4 + content.readUInt32BE(at);
    frames.push(content.subarray(at + 4, end));
    at = end;
  }
  return frames;
}

function writeFrames(path: string, frames: readonly Buffer[]): void {
  const parts = frames.flatMap((frame) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(frame.length);
    return [length, frame];
  });
  writeFileSync(path, gzipSync(Buffer.concat(parts)));
}

/** Without these tables, which have no rows: name and columns, an empty frame, their number. */
function without(frames: readonly Buffer[], tables: readonly string[]): Buffer[] {
  const left = [...frames];
  for (const table of tables) {
    const at = left.findIndex((frame) => frame.toString().startsWith(`{"name":"${table}",`));
    expect(left.slice(at + 1, at + 3).map(String)).toEqual(['', '0']);
    left.splice(at, 3);
  }
  return left;
}

it('the tables need neither an order nor sequences: they have no foreign, generated or identity columns', async () => {
  const url = await databaseFor(createDatabase);
  const dataSource = await new DataSource({ ...dataSourceOptions(url, 1), entities: ENTITIES }).initialize();
  const tables = copiedTables(dataSource).map(({ name }) => name);
  await dataSource.destroy();
  expect(tables).not.toContain('access_tokens');
  const others = await query(
    url,
    `SELECT attrelid::regclass::text AS name FROM pg_attribute
     WHERE attrelid = ANY ($1::text[]::regclass[]) AND attnum > 0 AND (attidentity <> '' OR attgenerated <> '')
     UNION ALL SELECT conname FROM pg_constraint WHERE contype = 'f'
     UNION ALL SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema() AND sequencename <> 'migrations_id_seq'`,
    [tables],
  );
  expect(others).toEqual([]);
});

it('without the settings of the service says where they are set', async () => {
  const { code, stderr } = await latchkeyCommand({ DATA_DIR: folder }, tmpdir(), 'backup', file);
  expect([code, stderr]).toEqual([
    1,
    `backup: invalid settings, nothing was started:
  SECRET_KEY is not set, and there is no generated one in ${folder}. Use a value, or another DATA_DIR.
Settings are those of the service: the environment, or .env.
`,
  ]);
});

it('without a file, or with a wrong option, is wrong usage', async () => {
  for (const args of [['backup'], ['restore'], ['backup', 'a', 'b'], ['backup', 'a', '--keep-sessions']]) {
    const { code, stderr } = await latchkey({}, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Usage: latchkey ${args[0]} <file>`)]);
  }
  expect(await latchkey({}, 'restore', '--help')).toMatchObject({ code: 0, stderr: '' });
});
