import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../http/package-root.js';

// No HTML: pages have routes and policies in the controller. No name begins with a dot.
const SERVED = /^\w[\w.-]*\.(?:css|js|svg|png|woff2)$/;
// Made by `npm run build:client`, and copied by the build, so that `src/` and `dist/src/` have one path to it.
const SDK = fileURLToPath(new URL('../../packages/client/dist/', import.meta.url));

/** A file of the demo page, `demo/<name>` beside package.json. */
export function demoFile(name: string): string {
  return join(PACKAGE_ROOT, 'demo', name);
}

/** Lists the regular files of known types in a folder; the folder may be missing. */
export function filesToServe(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SERVED.test(entry.name))
    .map(({ name }) => name);
}

/** Files by path, listed at start: the demo's, and the SDK's with their source maps. */
export const FILES: ReadonlyMap<string, string> = new Map([
  ...filesToServe(demoFile('.')).map((name) => [`/demo/${name}`, demoFile(name)] as const),
  ...filesToServe(SDK).flatMap((name) =>
    [name, `${name}.map`].map((file) => [`/latchkey-client/${file}`, join(SDK, file)] as const),
  ),
]);
