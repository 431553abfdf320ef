import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesToServe } from './files-to-serve.js';

describe('what pages may load from a folder', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-files-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is every file of a known type, whatever its name', () => {
    for (const name of ['new.js', 'device-row.js', 'a.min.css', 'logo.svg'])
      writeFileSync(join(folder, name), '');
    expect(filesToServe(folder).toSorted()).toEqual(['a.min.css', 'device-row.js', 'logo.svg', 'new.js']);
  });

  it.each([
    '.hidden.js',
    '..js',
    '.env',
    'index.html',
    'notes.md',
    'a.js.map',
    'a b.js',
    'a.js~',
    ':a.js',
    '{a}.js',
  ])('is not %s', (name) => {
    writeFileSync(join(folder, name), '');
    expect(filesToServe(folder)).toEqual([]);
  });

  it('is neither a folder nor a link, which may point outside', () => {
    mkdirSync(join(folder, 'folder.js'));
    writeFileSync(join(folder, 'folder.js', 'inside.js'), '');
    symlinkSync('/etc/hostname', join(folder, 'link.js'));
    expect(filesToServe(folder)).toEqual([]);
  });

  it('is an empty list where there is no folder', () =>
    expect(filesToServe(join(folder, 'none'))).toEqual([]));
});
