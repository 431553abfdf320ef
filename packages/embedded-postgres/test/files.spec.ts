import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseSpecialFiles } from '../src/cluster.js';
import { makeFileFor } from '../src/own-file.js';
import { disownStalePid, readPostmaster } from '../src/postmaster.js';

let path: string;
beforeEach(() => (path = mkdtempSync(join(tmpdir(), 'latchkey-files-'))));
afterEach(() => rmSync(path, { recursive: true }));

// Named pipes and links in a cluster: test/attacks/embedded-database.spec.ts.
describe('a name that another program has replaced', () => {
  it('by a link: no file is made through it', () => {
    const [target, link] = [join(path, 'target'), join(path, 'link')];
    writeFileSync(target, 'kept');
    symlinkSync(target, link);
    expect(() => makeFileFor(undefined, link, 'secret')).toThrow(/EEXIST/);
    expect(readFileSync(target, 'utf8')).toBe('kept');
  });

  it('by a link to a device: refused before PostgreSQL reads it', () => {
    symlinkSync('/dev/zero', join(path, 'pg_hba.conf'));
    expect(() => refuseSpecialFiles(path)).toThrow(/pg_hba\.conf is not a file of PostgreSQL's/);
  });
});

describe('postmaster.pid', () => {
  const socket = { host: '/run/latchkey-1', port: 5432 };
  const tcp = { host: '127.0.0.1', port: 40123 };
  it.each([
    ['on a socket', '42\n/data\n17\n5432\n/run/latchkey-1\n\n  1 2\nready   \n', 42, socket],
    ['on loopback', '42\n/data\n17\n40123\n\n127.0.0.1\n  1 2\nready   \n', 42, tcp],
    ['not listening yet', '42\n/data\n17\n5432\n', 42, undefined],
    ['in single-user mode', '-42\n/data\n17\n5432\n\n\n', 42, undefined],
    ['just being written', '', Number.NaN, undefined],
  ])('%s', (_, text, pid, address) => {
    writeFileSync(join(path, 'postmaster.pid'), text);
    expect(readPostmaster(path)).toEqual({ pid, address });
  });

  it('of a server that has stopped', () => {
    expect(readPostmaster(path)).toBeUndefined();
  });

  it.each<[string, string | undefined, string | undefined]>([
    [
      'of the process is no server: gets the number of this one',
      '42\n/data\n17\n',
      `${process.pid}\n/data\n17\n`,
    ],
    ['belongs to another server: is unchanged', '43\n/data\n18\n', '43\n/data\n18\n'],
    ['was removed by the server: is not created', undefined, undefined],
  ])('that %s', (_, before, after) => {
    const file = join(path, 'postmaster.pid');
    if (before) writeFileSync(file, before);
    expect(disownStalePid(path, 42)).toBe(before !== after);
    expect(existsSync(file) ? readFileSync(file, 'utf8') : undefined).toBe(after);
  });
});
