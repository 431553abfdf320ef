import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { postgresAccount } from '../src/system-account.js';
import { postgresBinaries } from '../src/binaries.js';
import { runningEmbeddedPostgres, type EmbeddedPostgres } from '../src/embedded-postgres.js';
import { takeOver } from '../src/ownership.js';
import { readPassword } from '../src/cluster.js';
import { isAlive, readPostmaster } from '../src/postmaster.js';
import { startServer } from '../src/server.js';
import { SocketDirectory } from '../src/socket-directory.js';
import { Starts } from './support/starts.js';
import { needs } from '../../../test/support/installed.js';
import { query } from '../../../test/support/database.js';

const describeOnUnix = needs({ Unix: process.platform !== 'win32' }).describe;
const isRoot = process.getuid?.() === 0;

const ROOM = mkdtempSync(join(tmpdir(), 'latchkey-socket-'));
// A path too long for a socket below it, with characters that a URL does not allow.
const DATA_DIR = join(ROOM, 'é %2F@:,"' + 'x'.repeat(120));
const CLUSTER = join(DATA_DIR, 'postgres');

let places: string;
const starts = new Starts();

beforeAll(() => chmodSync(ROOM, 0o711));
afterAll(() => rmSync(ROOM, { recursive: true, force: true }));
beforeEach(() => {
  places = mkdtempSync(join(tmpdir(), 'lk "p,')); // with an awkward name, too
  chmodSync(places, 0o711);
});
afterEach(async () => {
  await starts.stop();
  rmSync(places, { recursive: true, force: true });
});

const start = (socketPlaces: string[] | 'the usual' = [places]): Promise<EmbeddedPostgres> =>
  starts.start({ dataDir: DATA_DIR, ...(socketPlaces !== 'the usual' && { socketPlaces }) });

/** The directory of the socket that a URL names. */
const directoryOf = (url: string) => decodeURIComponent(new URL(url).hostname);

describeOnUnix('the socket', () => {
  it("is the only way in, in a directory for PostgreSQL's account only, not below DATA_DIR", async () => {
    const { url } = await start();
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
    const directory = directoryOf(url);
    expect(dirname(directory)).toBe(places);
    const uid = postgresAccount()?.uid ?? process.getuid!();
    expect([lstatSync(directory).uid, lstatSync(directory).mode & 0o7777]).toEqual([uid, 0o700]);
    expect(statSync(join(directory, '.s.PGSQL.5432')).mode & 0o777).toBe(0o600);
  });

  it('is by default in a place with a short and safe path', async () => {
    const directory = directoryOf((await start('the usual')).url);
    expect(Buffer.byteLength(directory)).toBeLessThan(103 - '/.s.PGSQL.5432'.length);
    expect(lstatSync(directory).mode & 0o777).toBe(0o700);
  });

  const itAsRoot = needs({ root: isRoot, Linux: process.platform === 'linux' }).it;
  itAsRoot('refuses other accounts', async () => {
    const { url } = await start();
    const script = `require('node:net').connect(${JSON.stringify(join(directoryOf(url), '.s.PGSQL.5432'))})
      .on('connect', () => process.exit(0)).on('error', ({ code }) => { console.log(code); process.exit(1); })`;
    const asUser = (uid: number) =>
      spawnSync(process.execPath, ['-e', script], { uid, gid: uid, cwd: '/', encoding: 'utf8' });
    expect(asUser(0).status).toBe(0);
    expect(asUser(54321)).toMatchObject({ status: 1, stdout: 'EACCES\n' });
  });

  it('is removed with the server, as are sockets of killed servers', async () => {
    const first = await start();
    const stale = join(places, `${basename(directoryOf(first.url)).slice(0, -6)}killed`);
    const foreign = join(places, 'latchkey-00000000-abcdef');
    const link = join(places, `${basename(stale).slice(0, -6)}linked`);
    await first.stop();
    expect(readdirSync(places)).toEqual([]);

    const account = postgresAccount();
    for (const directory of [stale, foreign]) {
      mkdirSync(directory, { mode: 0o700 });
      for (const name of ['.s.PGSQL.5432', '.s.PGSQL.5432.lock']) writeFileSync(join(directory, name), '');
      if (account) chownSync(directory, account.uid, account.gid);
    }
    symlinkSync(foreign, link);
    const second = await start();
    expect(readdirSync(places).toSorted()).toEqual(
      [foreign, link, directoryOf(second.url)].map((path) => basename(path)).toSorted(),
    );
    expect(readdirSync(foreign)).toHaveLength(2); // not this cluster's
  });
});

describeOnUnix('the second socket', () => {
  it('is in the directory of the cluster, for commands; it is removed with the server, and replaced after a kill', async () => {
    const dataDir = mkdtempSync(join(ROOM, 'd'));
    chmodSync(dataDir, 0o711);
    const own = join(dataDir, 'postgres');
    const first = await starts.start({ dataDir, socketPlaces: [places] });
    const running = runningEmbeddedPostgres(dataDir)!;
    expect([directoryOf(first.url), directoryOf(running)]).toEqual([expect.stringContaining(places), own]);
    expect(await query(running, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(statSync(join(own, '.s.PGSQL.5432')).mode & 0o777).toBe(0o600);
    expect(starts.log.join()).not.toContain('too long');

    // The number in the lock is that of a living process, as after a restart of a container.
    const stranger = spawn('sleep', ['60'], { ...postgresAccount(), stdio: 'ignore' });
    try {
      const back = starts.line(/is back/);
      const lock = join(own, '.s.PGSQL.5432.lock');
      const [, ...rest] = readFileSync(lock, 'utf8').split('\n');
      process.kill(readPostmaster(own)!.pid, 'SIGKILL');
      writeFileSync(lock, [stranger.pid, ...rest].join('\n'));
      await back;
      expect(await query(running, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      stranger.kill();
    }
    await first.stop();
    expect(readdirSync(own).filter((name) => name.startsWith('.s.'))).toEqual([]);
  });

  it('is left out, with a warning, if its path has more than 100 bytes', async () => {
    const { url } = await start();
    expect(starts.log).toEqual([
      expect.stringMatching(/is too long for a socket, so a backup may need a stop/),
    ]);
    expect(directoryOf(runningEmbeddedPostgres(DATA_DIR)!)).toBe(directoryOf(url));
    expect(readdirSync(CLUSTER).filter((name) => name.startsWith('.s.'))).toEqual([]);
  });

  const hasNamespaces = spawnSync('unshare', ['--pid', '--ipc', '--fork', 'true']).status === 0;
  const itInContainers = needs({ namespaces: hasNamespaces }).it;
  itInContainers(
    'prevents a second start on the data in another container, which sees no process',
    async () => {
      const dataDir = mkdtempSync(join(ROOM, 'd'));
      chmodSync(dataDir, 0o711);
      const { url } = await starts.start({ dataDir, socketPlaces: [places] });
      const elsewhere = mkdtempSync(join(ROOM, 'e'));
      chmodSync(elsewhere, 0o711);
      const { stdout, stderr } = spawnSync(
        'unshare',
        ['--pid', '--ipc', '--fork', '--mount-proc', process.execPath, '--input-type=module', '-e', SECOND],
        { encoding: 'utf8', env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PLACE: elsewhere } },
      );
      expect([stdout, stderr]).toEqual([expect.stringContaining('another running service owns'), '']);
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(readPostmaster(join(dataDir, 'postgres'))).toMatchObject({ address: { port: 5432 } });
    },
  );
});

const SECOND = `
  import { startEmbeddedPostgres } from '${new URL('../../../dist/packages/embedded-postgres/src/embedded-postgres.js', import.meta.url).href}';
  const { DATA_DIR: dataDir, PLACE } = process.env;
  await startEmbeddedPostgres({ dataDir, log: () => undefined, socketPlaces: [PLACE] }).then(
    (database) => database.stop().then(() => console.log('started')),
    (error) => console.log(error.message),
  );`;

describeOnUnix('when the socket is lost', () => {
  it('the server is killed and its lock names a living process: it comes back at the same address', async () => {
    const { url } = await start();
    const account = postgresAccount();
    const stranger = spawn('sleep', ['60'], { ...account, stdio: 'ignore' });
    try {
      const back = starts.line(/is back/);
      const lock = join(directoryOf(url), '.s.PGSQL.5432.lock');
      const [, ...rest] = readFileSync(lock, 'utf8').split('\n');
      process.kill(readPostmaster(CLUSTER)!.pid, 'SIGKILL');
      writeFileSync(lock, [stranger.pid, ...rest].join('\n'));
      await back;
      expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });

  it('its directory is removed: it comes back at its address', async () => {
    const { url } = await start();
    const back = starts.line(/is back/);
    rmSync(directoryOf(url), { recursive: true });
    await back;
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(lstatSync(directoryOf(url)).mode & 0o777).toBe(0o700);
  });

  it('another account takes its name: nothing there is used, and it comes back when the name is free', async () => {
    const { url } = await start();
    const directory = directoryOf(url);
    const bait = join(places, 'bait');
    mkdirSync(bait, { mode: 0o777 });
    const refused = starts.line(/belongs to another account/);
    rmSync(directory, { recursive: true });
    symlinkSync(bait, directory);
    expect(await refused).not.toContain(new URL(url).password);
    expect(readdirSync(bait)).toEqual([]);
    const back = starts.line(/is back/);
    rmSync(directory);
    await back;
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a server that was left behind has lost it: the next start is refused, with its process number', async () => {
    await (await start()).stop();
    const account = postgresAccount();
    const binaries = postgresBinaries(account, () => DATA_DIR);
    const socket = SocketDirectory.make(CLUSTER, account, [places])!;
    const orphan = await startServer({ binaries, account, path: CLUSTER, ...socket.open() });
    try {
      socket.remove();
      await expect(
        takeOver(CLUSTER, readPassword(CLUSTER), binaries, (text) => starts.log.push(text), 500),
      ).rejects.toThrow(`process ${orphan.pid} holds ${CLUSTER} and neither answers at ${places}`);
      expect(isAlive(orphan.pid)).toBe(true);
    } finally {
      await orphan.stop();
    }
  });
});

describeOnUnix('without a socket', () => {
  it.each<[string, string, number]>([
    ['only a long path', 'x'.repeat(60), 0o711],
    ['a place that every account may change', 'open', 0o777],
    ['a place that PostgreSQL may not enter', 'closed', isRoot ? 0o700 : 0],
  ])('%s: loopback, with the password', async (_, name, mode) => {
    const place = join(places, name);
    mkdirSync(place);
    chmodSync(place, mode);
    const { url } = await start([place]);
    expect(starts.log).toEqual([expect.stringContaining('it listens on 127.0.0.1')]);
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(runningEmbeddedPostgres(DATA_DIR)).toBe(url);
    const wrong = new URL(url);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    chmodSync(place, 0o700);
    expect(readdirSync(place)).toEqual([]);
  });

  it('a server that is killed comes back at the same port', async () => {
    const { url } = await start([]);
    const back = starts.line(/is back/);
    process.kill(readPostmaster(CLUSTER)!.pid, 'SIGKILL');
    await back;
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describeOnUnix('the files', () => {
  it('can be read by their account only, with any umask, and after a backup was restored with other modes', async () => {
    const before = process.umask(0);
    try {
      const first = await start();
      await query(first.url, 'CREATE TABLE made AS SELECT 1 AS one');
      expect(openToOthers(DATA_DIR)).toEqual([]);
      expect(openToOthers(places).filter((path) => path !== places)).toEqual([]);
      await first.stop();
    } finally {
      process.umask(before);
    }
    chmodSync(CLUSTER, 0o755);
    await start();
    expect(openToOthers(CLUSTER)).toEqual([]);
  });
});

/** Returns the paths that other accounts may read, write or enter, except for the path that PostgreSQL's account needs. */
function openToOthers(root: string): string[] {
  const below = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name));
  return [root, ...below].filter((path) => {
    const mode = lstatSync(path).mode;
    return mode & 0o077 & (isRoot && path === root ? ~0o011 : ~0);
  });
}
