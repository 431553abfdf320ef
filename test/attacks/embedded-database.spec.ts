import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterDirectory } from '../../packages/embedded-postgres/src/cluster-directory.js';
import { removeOwned } from '../../packages/embedded-postgres/src/cluster.js';
import { startEmbeddedPostgres } from '../../packages/embedded-postgres/src/embedded-postgres.js';
import {
  disownStalePid,
  mayBePostmaster,
  readPostmaster,
} from '../../packages/embedded-postgres/src/postmaster.js';
import { postgresAccount } from '../../packages/embedded-postgres/src/system-account.js';
import { query } from '../support/database.js';
import { needs } from '../support/installed.js';

const onLinux = process.platform === 'linux';
const account = onLinux ? postgresAccount() : undefined;
const NOBODY = { uid: 65534, gid: 65534 };
const itAsRoot = needs({ root: account !== undefined }).it;

needs({ Linux: onLinux }).describe('the embedded database', () => {
  let room: string;
  let dataDir: string;
  let cluster: string;
  let victim: string;
  const log = (): void => undefined;
  const start = () => startEmbeddedPostgres({ dataDir, log });

  beforeAll(async () => {
    room = mkdtempSync(join(tmpdir(), 'latchkey-attacked-'));
    chmodSync(room, 0o711);
    dataDir = join(room, 'data');
    cluster = join(dataDir, 'postgres');
    victim = join(room, 'victim');
    await (await start()).stop();
  });
  beforeEach(() => writeFileSync(victim, "root's", { mode: 0o600 }));
  afterAll(() => rmSync(room, { recursive: true, force: true }));

  /** Lets PostgreSQL's account put something in place of a file of the cluster. */
  async function instead<Result>(
    name: string,
    put: (path: string) => void,
    then: () => Promise<Result>,
  ): Promise<Result> {
    const path = join(cluster, name);
    const kept = join(room, 'kept');
    if (existsSync(path)) renameSync(path, kept);
    try {
      put(path);
      if (account) lchownSync(path, account.uid, account.gid);
      return await then();
    } finally {
      rmSync(path, { recursive: true, force: true });
      if (existsSync(kept)) renameSync(kept, path);
    }
  }

  itAsRoot('is closed to every process of nobody (needs root)', async () => {
    const database = await start();
    try {
      const asNobody = (script: string): number | null =>
        spawnSync('sh', ['-c', script, 'sh', cluster], { ...NOBODY, cwd: '/', stdio: 'ignore' }).status;
      expect(asNobody('cat "$1/service-password"')).not.toBe(0);
      expect(asNobody('ls "$1"')).not.toBe(0);
      expect(asNobody('echo >> "$1/postmaster.pid"')).not.toBe(0);
      expect(asNobody(`kill -0 ${readPostmaster(cluster)!.pid}`)).not.toBe(0);
      expect(statSync(`/proc/${readPostmaster(cluster)!.pid}`).uid).toBe(account!.uid);
      expect(await query(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await database.stop();
    }
  });

  const PIPES = ['postmaster.pid', 'service-password', 'pg_hba.conf', 'global/pg_control'];
  it.each(PIPES)('a named pipe at %s: the start ends, and names it', async (name) => {
    const pipe = (path: string): unknown => execFileSync('mkfifo', [path]);
    await instead(name, pipe, () => expect(start()).rejects.toThrow(`${join(cluster, name)} is not a file`));
  });

  it('a named pipe at postmaster.pid, with a writer, and swapped for a link: no file outside is written', async () => {
    const stranger = spawn('sleep', ['60'], { ...account, stdio: 'ignore' });
    // The first reader gets a number; the second one holds the pipe while its name becomes a link.
    const script = `
      const fs = require('node:fs');
      const [path, victim, pid] = process.argv.slice(1);
      fs.writeFileSync(path, pid + '\\n/data\\n1\\n5432\\n');
      const pipe = fs.openSync(path, 'w');
      fs.unlinkSync(path);
      fs.symlinkSync(victim, path);
      fs.writeSync(pipe, pid + '\\n/data\\n1\\n5432\\n');`;
    await instead(
      'postmaster.pid',
      (path) => execFileSync('mkfifo', [path]),
      async () => {
        const path = join(cluster, 'postmaster.pid');
        const swapping = spawn(process.execPath, ['-e', script, path, victim, String(stranger.pid)], {
          ...account,
          stdio: 'ignore',
        });
        await expect(start()).rejects.toThrow(`${path} is not a file`);
        swapping.kill();
      },
    );
    stranger.kill();
    expect(readFileSync(victim, 'utf8')).toBe("root's");
  });

  it.each(['postmaster.pid', 'service-password'])('a link at %s is not followed', async (name) => {
    writeFileSync(victim, `${process.pid}\n/data\n1\n5432\n`);
    const link = (path: string): void => symlinkSync(victim, path);
    await instead(name, link, async () => {
      await expect(start()).rejects.toThrow(`${join(cluster, name)} is not a file`);
      if (name === 'postmaster.pid')
        expect(() => disownStalePid(cluster, process.pid)).toThrow('is not a file');
    });
    expect(readFileSync(victim, 'utf8')).toBe(`${process.pid}\n/data\n1\n5432\n`);
  });

  itAsRoot('a file of root at postmaster.pid is neither read nor written (needs root)', async () => {
    const own = join(cluster, 'postmaster.pid');
    writeFileSync(own, '42\n/data\n');
    try {
      expect(() => readPostmaster(cluster)).toThrow('is not a file');
      expect(() => disownStalePid(cluster, 42)).toThrow('is not a file');
      expect(readFileSync(own, 'utf8')).toBe('42\n/data\n');
    } finally {
      unlinkSync(own);
    }
  });

  it('a file of 100 MB at postmaster.pid is not read', async () => {
    const huge = (path: string): void => (writeFileSync(path, ''), truncateSync(path, 100 << 20));
    await instead('postmaster.pid', huge, () => expect(start()).rejects.toThrow('is not a file'));
  });

  itAsRoot('a number at postmaster.pid that is a process of root: gets no signal (needs root)', () => {
    const stranger = spawn('sh', ['-c', 'sleep 60', cluster], { stdio: 'ignore' });
    try {
      expect(readFileSync(`/proc/${stranger.pid}/cmdline`, 'utf8')).toBeDefined();
      expect(mayBePostmaster(stranger.pid!, cluster)).toBe(false);
    } finally {
      stranger.kill();
    }
  });

  it('what a killed start has left is removed, and nothing outside of it', async () => {
    const left = `${cluster}.new-${deadProcess()}`;
    mkdirSync(left);
    mkdirSync(join(room, 'outside'), { recursive: true });
    writeFileSync(join(room, 'outside', 'kept'), '');
    symlinkSync(join(room, 'outside'), join(left, 'base'));
    if (account) chownSync(left, account.uid, account.gid);
    removeOwned(left, account);
    expect(existsSync(left)).toBe(false);
    expect(existsSync(join(room, 'outside', 'kept'))).toBe(true);
  });

  describe('in place of its directory', () => {
    let other: string;
    beforeEach(() => {
      other = mkdtempSync(join(room, 'other-'));
      chmodSync(other, 0o711);
    });
    const refused = (): unknown => {
      try {
        return clusterDirectory(other, log);
      } catch (error) {
        return String(error);
      }
    };

    it('a named pipe, or a file: is refused', () => {
      execFileSync('mkfifo', [join(other, 'postgres')]);
      expect(refused()).toMatch(/postgres is not a directory: remove it/);
      unlinkSync(join(other, 'postgres'));
      writeFileSync(join(other, 'postgres'), '');
      expect(refused()).toMatch(/postgres is not a directory: remove it/);
    });

    itAsRoot("another account's link is not followed, root's is (needs root)", () => {
      symlinkSync(cluster, join(other, 'postgres'));
      expect(refused()).toMatchObject({ path: cluster });
      lchownSync(join(other, 'postgres'), NOBODY.uid, NOBODY.gid);
      expect(refused()).toMatch(/postgres is a link that the user id 65534 has made: remove it/);
    });

    itAsRoot("root's link to a directory of another account is refused (needs root)", () => {
      mkdirSync(join(other, 'theirs'));
      chownSync(join(other, 'theirs'), NOBODY.uid, NOBODY.gid);
      symlinkSync(join(other, 'theirs'), join(other, 'postgres'));
      expect(refused()).toMatch(/theirs belongs to the account with the user id 65534/);
    });

    itAsRoot('DATA_DIR of another account: its mode stays (needs root)', () => {
      chownSync(other, NOBODY.uid, NOBODY.gid);
      chmodSync(other, 0o700);
      const { path } = clusterDirectory(other, log);
      expect(path).toMatch(/^\/var\/lib\/latchkey\/[0-9a-f]{16}\/postgres$/);
      expect(statSync(other).mode & 0o777).toBe(0o700);
      rmSync(join(path, '..'), { recursive: true });
    });
  });
});

function deadProcess(): number {
  return spawnSync('true').pid;
}
