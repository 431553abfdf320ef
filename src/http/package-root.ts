import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json, with the files that are served as they are. Found from `src/` and from `dist/src/` alike. */
export const PACKAGE_ROOT = rootAbove(fileURLToPath(import.meta.url));

function rootAbove(path: string): string {
  const parent = dirname(path);
  if (parent === path) throw new Error('there is no package.json above this module');
  return existsSync(join(parent, 'package.json')) ? parent : rootAbove(parent);
}
