// Compiles the service into dist/ with SWC and the options of .swcrc, for `npm start` and `npm run build`. `node build.js openapi`:
// the sources that `npm run docs:api` runs, into dist/api/. As `nest build -b swc`, without its 189 packages.
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
/** What dist/ is made from, beside the client. */
export const SOURCES = [
  'src',
  'packages/adapter-test/src',
  'packages/check-provider/src',
  'packages/embedded-postgres/src',
  'ormconfig.ts',
];
const CLIENT = 'packages/client/dist';

/** @returns the files of a folder, or the file */
function filesOf(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
}

/** Compiles all sources. @throws with the message of the compiler */
export async function compile(sources, out) {
  const { transformFile } = await import('@swc/core'); // `npm start` needs it only if a source has changed
  const files = sources.flatMap(filesOf).filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
  const compiled = await Promise.all(
    files.map(async (file) => {
      const place = join(root, out, file.replace(/ts$/, 'js'));
      const from = relative(dirname(place), join(root, file));
      const options = { cwd: root, sourceMaps: true, sourceFileName: from };
      return { place, ...(await transformFile(join(root, file), options)) };
    }),
  );
  rmSync(join(root, out), { recursive: true, force: true });
  for (const { place, code, map } of compiled) {
    mkdirSync(dirname(place), { recursive: true });
    const name = place.slice(place.lastIndexOf('/') + 1);
    writeFileSync(place, `${code}\n//# sourceMappingURL=${name}.map`);
    writeFileSync(`${place}.map`, map);
  }
}

/** The client's scripts, which the service serves: not those for development and React, and no types. */
export function copyClient() {
  mkdirSync(join(root, 'dist', CLIENT), { recursive: true });
  for (const name of readdirSync(join(root, CLIENT)))
    if (/\.(?:js|map|txt)$/.test(name) && !/^(?:development|react)\.js/.test(name))
      copyFileSync(join(root, CLIENT, name), join(root, 'dist', CLIENT, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'openapi') await compile(['src', 'openapi'], 'dist/api');
  else {
    await compile(SOURCES, 'dist');
    copyClient();
  }
}
