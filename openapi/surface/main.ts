import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { format, presentSurface } from './surface.js';

/**
 * `npm run docs:surface`: writes what the version of package.json promises to docs/surface/, until CHANGELOG.md
 * has its date. Then the file never changes again: what is added later is part of the next version.
 */
const ROOT = new URL('../../', import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');

const { version } = JSON.parse(textOf('package.json')) as { version: string };
const file = new URL(`docs/surface/${version}.json`, ROOT);
const isReleased = !textOf('CHANGELOG.md').includes(`## [${version}] - unreleased`);
if (existsSync(file) && isReleased) {
  process.stderr.write(
    `docs/surface/${version}.json is frozen, since ${version} is released. \`npm run release\` makes the next version.\n`,
  );
  process.exitCode = 1;
} else {
  writeFileSync(file, format(presentSurface()));
}
