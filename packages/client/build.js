// Builds dist/: one minified module for browsers and Node with its source map, and its types.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { minify } from '@swc/core';
import { build } from 'esbuild';

const directory = fileURLToPath(new URL('.', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** Takes the line breaks out of the style sheet, which minifiers leave in a template. */
const styleInOneLine = {
  name: 'style-in-one-line',
  setup({ onLoad }) {
    onLoad({ filter: /\bdialog-style\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/`\n[^`]+`/, (style) => style.replaceAll('\n', '')),
      loader: 'ts',
    }));
  },
};

const { outputFiles } = await build({
  absWorkingDir: directory,
  entryPoints: ['src/index.ts'],
  outfile: 'dist/index.js', // to which the sources of the map are relative; nothing is written there
  bundle: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  external: ['socket.io-client'],
  plugins: [styleInOneLine],
  sourcemap: 'external',
  write: false,
});
const [bundleMap, bundle] = outputFiles.map(({ text }) => text);
const { code, map } = await minify(bundle, {
  module: true,
  compress: { passes: 3 },
  mangle: true,
  sourceMap: { content: bundleMap },
});
mkdirSync(`${directory}dist`, { recursive: true });
writeFileSync(`${directory}dist/index.js`, `${code}\n//# sourceMappingURL=index.js.map\n`);
writeFileSync(`${directory}dist/index.js.map`, map);
rmSync(`${directory}dist/types`, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: directory, stdio: 'inherit' });
