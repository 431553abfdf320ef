import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../http/package-root.js';
import { filesToServe } from './files-to-serve.js';

// Made by `npm run build:client`, and copied by the build: the path is the same from `src/` and from `dist/src/`.
const SDK = fileURLToPath(new URL('../../packages/client/dist/', import.meta.url));

/** A file of the demo page, `demo/<name>` beside package.json. */
export function demoFile(name: string): string {
  return join(PACKAGE_ROOT, 'demo', name);
}

/**
 * The file behind each path that the pages load: the demo's, found at start, and the SDK's folder, with the maps by which a
 * debugger shows its sources.
 */
export const FILES: ReadonlyMap<string, string> = new Map([
  ...filesToServe(demoFile('.')).map((name) => [`/demo/${name}`, demoFile(name)] as const),
  ...filesToServe(SDK).flatMap((name) =>
    [name, `${name}.map`].map((file) => [`/latchkey-client/${file}`, join(SDK, file)] as const),
  ),
]);
