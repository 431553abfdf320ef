import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../http/package-root.js';

const HERE = fileURLToPath(import.meta.url);
// The bundle that comes with the server, so that both speak the same protocol.
const SOCKET_IO = join(dirname(createRequire(HERE).resolve('socket.io/package.json')), 'client-dist');

// Made by `npm run build:client`, and copied by the build: the path is the same from `src/` and from `dist/src/`.
const SDK = new URL('../../packages/client/dist/index.js', import.meta.url);

/** A file of the demo page, `demo/<name>` beside package.json. */
export function demoFile(name: string): string {
  return join(PACKAGE_ROOT, 'demo', name);
}

/** What the page imports beside its own modules, under the name that it asks for. */
export const LIBRARIES: ReadonlyMap<string, string> = new Map([
  ['latchkey-client.js', fileURLToPath(SDK)],
  ['index.js.map', fileURLToPath(`${SDK.href}.map`)], // so that a debugger shows the SDK's sources
  ['socket.io-client.js', join(SOCKET_IO, 'socket.io.esm.min.js')],
]);
