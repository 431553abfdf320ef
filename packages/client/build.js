// Builds dist/: one minified module for browsers and Node, and its types.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { minify } from '@swc/core';
import { build } from 'esbuild';

const directory = fileURLToPath(new URL('.', import.meta.url));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

const { outputFiles } = await build({
  absWorkingDir: directory,
  entryPoints: ['src/index.ts'],
  bundle: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  external: ['socket.io-client'],
  write: false,
});
const { code } = await minify(outputFiles[0].text, { module: true, compress: { passes: 3 }, mangle: true });
mkdirSync(`${directory}dist`, { recursive: true });
// The line breaks of the style sheet (dialog-style.ts), which minifiers leave in a template.
const bundle = code.replace(/`\n[^`]+`/, (style) => style.replaceAll('\n', ''));
writeFileSync(`${directory}dist/index.js`, bundle);
rmSync(`${directory}dist/types`, { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: directory, stdio: 'inherit' });
