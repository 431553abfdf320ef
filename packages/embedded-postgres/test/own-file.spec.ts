import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseSpecialFiles } from '../src/cluster.js';
import { makeFileFor, readOwnFile } from '../src/own-file.js';

describe('a name that another program has replaced', () => {
  let path: string;
  beforeEach(() => (path = mkdtempSync(join(tmpdir(), 'latchkey-own-'))));
  afterEach(() => rmSync(path, { recursive: true }));

  it('by a link: no file is made through it', () => {
    const [target, link] = [join(path, 'target'), join(path, 'link')];
    writeFileSync(target, 'kept');
    symlinkSync(target, link);
    expect(() => makeFileFor(undefined, link, 'secret')).toThrow(/EEXIST/);
    expect(readFileSync(target, 'utf8')).toBe('kept');
  });

  it('by a named pipe: it is not waited for', () => {
    const pipe = join(path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const writer = spawn('sh', ['-c', 'sleep 3; : >"$1"', 'sh', pipe]); // ends the wait of a reader that waits
    const began = performance.now();
    expect(() => readOwnFile(pipe)).toThrow(/is not a file of PostgreSQL's/);
    expect(performance.now() - began).toBeLessThan(2000);
    writer.kill();
  });

  it('by a named pipe, a link to one or to a device: refused before PostgreSQL reads it', () => {
    const pipe = join(path, 'pg_hba.conf');
    symlinkSync('/dev/zero', pipe);
    expect(() => refuseSpecialFiles(path)).toThrow(/pg_hba\.conf is not a file of PostgreSQL's/);
    rmSync(pipe);
    execFileSync('mkfifo', [pipe]);
    expect(() => refuseSpecialFiles(path)).toThrow(/pg_hba\.conf is not a file of PostgreSQL's/);
  });
});
