// Builds dist/: ES modules for browsers and Node, each with its source map, and their types. Each `import()` (languages, …) is a
// separate file: without a bundler, serve the whole folder. `--scripts` leaves the types as they are: `npm start` needs none.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minify } from '@swc/core';
import { build } from 'esbuild';

const directory = fileURLToPath(new URL('.', import.meta.url));
const dist = join(directory, 'dist');
const scriptsOnly = process.argv.includes('--scripts');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** Removes the line breaks of the style sheet, which minifiers keep in a template. */
const styleInOneLine = {
  name: 'style-in-one-line',
  setup({ onLoad }) {
    onLoad({ filter: /\b(\w+-style|provider-buttons)\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/`\n[^`]+`/, (style) => style.replaceAll('\n', '')),
      loader: 'ts',
    }));
  },
};

/** @returns the text of each file by its name: the entries, the chunks that they load, and their maps */
async function bundle(entryPoints, isDevelopment) {
  const { outputFiles } = await build({
    absWorkingDir: directory,
    entryPoints,
    outdir: dist, // to which the sources of the maps are relative; nothing is written there
    bundle: true,
    splitting: true,
    chunkNames: '[name]', // the name of the source: file names do not depend on the build
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    define: { DEVELOPMENT: String(isDevelopment) },
    external: ['react'],
    plugins: [styleInOneLine],
    sourcemap: 'external',
    write: false,
  });
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
}

async function minified(code, content) {
  const options = {
    module: true,
    compress: { passes: 3, directives: false },
    mangle: true,
    sourceMap: { content },
  };
  const made = await minify(code, options);
  return [made.code, made.map];
}

const entries = { index: 'src/index.ts', react: 'src/react/index.ts' };
if (!existsSync(join(directory, entries.react))) delete entries.react;
const production = await bundle(entries, false);
const development = await bundle({ development: entries.index }, true);

for (const name of readdirSync(directory).filter(isLeftBehind))
  rmSync(join(directory, name), { recursive: true });
const fresh = `${dist}-${process.pid}`;
mkdirSync(fresh);
try {
  const files = new Map([...development, ...production]);
  for (const [name, text] of files) {
    if (!name.endsWith('.js')) continue;
    const map = files.get(`${name}.map`);
    // Not minified, for the debugger.
    const [code, mapOfCode] = name === 'development.js' ? [text, map] : await minified(text, map);
    writeFileSync(join(fresh, name), `${code.trimEnd()}\n//# sourceMappingURL=${name}.map\n`);
    writeFileSync(join(fresh, `${name}.map`), mapOfCode);
  }
  if (!scriptsOnly) {
    const types = [tsc, '-p', 'tsconfig.build.json', '--outDir', join(fresh, 'types')];
    execFileSync(process.execPath, types, { cwd: directory, stdio: 'inherit' });
  }
  replaceFiles(fresh, dist);
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

/** Whether the folder is left from a build that was killed. */
function isLeftBehind(name) {
  const [, pid] = /^dist-(\d+)$/.exec(name) ?? [];
  if (!pid) return false;
  try {
    return !process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === 'ESRCH'; // EPERM: a process of another user
  }
}

/** One by one, so that concurrent readers and builds find every file complete. */
function replaceFiles(from, to) {
  const names = filesIn(from);
  for (const name of names) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    renameSync(join(from, name), join(to, name));
  }
  const isWanted = (name) => names.includes(name) || (scriptsOnly && name.startsWith('types'));
  for (const name of filesIn(to)) if (!isWanted(name)) rmSync(join(to, name), { force: true });
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}
