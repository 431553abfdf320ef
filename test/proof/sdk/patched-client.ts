import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Of the client. */
const SOURCES = fileURLToPath(new URL('../../../packages/client/src/', import.meta.url));

/** A fault that is planted in the client: a text of one of its files, and what stands there instead. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The client with a fault: its files by their names, as `ClientApp` takes them. @throws Error where the text is not there (once) */
export async function patchedClient({ file, from, to }: Patch): Promise<Map<string, string>> {
  const { outputFiles } = await build({
    absWorkingDir: SOURCES,
    entryPoints: ['index.ts'],
    outdir: SOURCES, // nothing is written
    bundle: true,
    splitting: true,
    chunkNames: '[name]',
    format: 'esm',
    target: 'es2022',
    define: { DEVELOPMENT: 'false' },
    write: false,
    plugins: [
      {
        name: 'patch',
        setup(bundling) {
          bundling.onLoad({ filter: new RegExp(`/${file}$`) }, async ({ path }) => {
            const parts = (await readFile(path, 'utf8')).split(from);
            if (parts.length !== 2) throw new Error(`${file} has "${from}" ${parts.length - 1} times`);
            return { contents: parts.join(to), loader: 'ts' };
          });
        },
      },
    ],
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
}
