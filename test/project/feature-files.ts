import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../docs/.vitepress/places.js';
import type { Feature } from '../../src/extensions.js';

/** Tracked and new files of the repository. */
export const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)));
export const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The lists that name features: of the service, and of its administration page. */
export const LISTS = ['src/features.ts', 'admin/src/features.ts'];
/** Pages of features. */
const PAGES: Readonly<Record<string, string>> = { administration: 'admin/', 'demo-page': 'demo/' };

export const isOf = ({ name }: Feature, file: string): boolean =>
  file.includes(`/features/${name}/`) || file.startsWith(PAGES[name] ?? ' ');
