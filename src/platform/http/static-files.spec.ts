import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesToServe } from './static-files.js';

it('pages may load regular files of known types: no pages, hidden files, folders and links', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-files-'));
  const served = ['a.min.css', 'device-row.js', 'logo.svg', 'new.js'];
  const others = [
    '.hidden.js',
    '..js',
    '.env',
    'index.html',
    'notes.md',
    'a.js.map',
    'a b.js',
    'a.js~',
    ':a.js',
  ];
  for (const name of [...served, ...others]) writeFileSync(join(folder, name), '');
  mkdirSync(join(folder, 'folder.js'));
  writeFileSync(join(folder, 'folder.js', 'inside.js'), '');
  symlinkSync('/etc/hostname', join(folder, 'link.js')); // may lead outside
  expect(filesToServe(folder).toSorted()).toEqual(served);
  expect(filesToServe(join(folder, 'none'))).toEqual([]);
  rmSync(folder, { recursive: true });
});
