import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The files of the demo page: `demo/` beside package.json, seen from `src/` and from `dist/src/` alike. */
export const DEMO_DIRECTORY = join(packageRoot(fileURLToPath(import.meta.url)), 'demo');

function packageRoot(path: string): string {
  const parent = dirname(path);
  if (parent === path) throw new Error('there is no package.json above the demo module');
  return existsSync(join(parent, 'package.json')) ? parent : packageRoot(parent);
}
