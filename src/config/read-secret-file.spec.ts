import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSecretFile, readSecretFileLater } from './secrets/secret-files.js';

const MOST = 64 * 1024;

describe.each([
  ['at once', async (path: string): Promise<string> => readSecretFile(path)],
  ['later', readSecretFileLater],
])('a file of a secret, read %s', (_, read) => {
  let directory: string;
  let path: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-secret-'));
    path = join(directory, 'secret');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it.each(['', 'a secret\n', 'ключ', 'x'.repeat(MOST)])('is what it holds', async (content) => {
    writeFileSync(path, content);
    expect(await read(path)).toBe(content);
  });

  it('holds at most 64 KiB', async () => {
    writeFileSync(path, 'x'.repeat(MOST + 1));
    await expect(read(path)).rejects.toMatchObject({ code: 'EFBIG' });
  });

  // Node.js would read it until the process is ended, out of memory. (Found by fuzzing.)
  it('may have no end', async () => {
    await expect(read('/dev/zero')).rejects.toMatchObject({ code: 'EFBIG' });
  });

  it.each([
    ['/nowhere', 'ENOENT'],
    ['/', 'EISDIR'],
    ['a\0b', 'ERR_INVALID_ARG_VALUE'],
  ])('%j cannot be read: %s', async (name, code) => {
    await expect(read(name)).rejects.toMatchObject({ code });
  });
});
