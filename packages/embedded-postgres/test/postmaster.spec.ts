import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disownStalePid, readPostmaster } from '../src/postmaster.js';

describe('postmaster.pid', () => {
  let path: string;
  beforeEach(() => (path = mkdtempSync(join(tmpdir(), 'latchkey-pid-'))));
  afterEach(() => rmSync(path, { recursive: true }));

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

  describe('of a process that is no server', () => {
    const file = () => join(path, 'postmaster.pid');

    it('gets the number of this process', () => {
      writeFileSync(file(), '42\n/data\n17\n');
      expect(disownStalePid(path, 42)).toBe(true);
      expect(readFileSync(file(), 'utf8')).toBe(`${process.pid}\n/data\n17\n`);
    });

    it('is unchanged if it belongs to another server', () => {
      writeFileSync(file(), '43\n/data\n18\n');
      expect(disownStalePid(path, 42)).toBe(false);
      expect(readFileSync(file(), 'utf8')).toBe('43\n/data\n18\n');
    });

    it('is not created if the server has removed it', () => {
      expect(disownStalePid(path, 42)).toBe(false);
      expect(existsSync(file())).toBe(false);
    });
  });
});
