import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of package.json and of static files, for `src/` and `dist/src/` alike. */
export const PACKAGE_ROOT = rootAbove(fileURLToPath(import.meta.url));

function rootAbove(path: string): string {
  const parent = dirname(path);
  if (parent === path) throw new Error('no package.json above this module');
  return existsSync(join(parent, 'package.json')) ? parent : rootAbove(parent);
}
