// Builds dist/, the static files of the administration page: scripts, styles, HTML, and the licences of the packages in the scripts.
// Beside each file that is sent is its compressed form (src/platform/http/static-files.ts).
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const directory = fileURLToPath(new URL('.', import.meta.url));
const dist = join(directory, 'dist');

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const { metafile } = await build({
  absWorkingDir: directory,
  entryPoints: ['src/main.tsx', 'src/callback.ts', 'src/style.css'],
  outdir: dist,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"', LATCHKEY_ENGLISH_ONLY: 'true' },
  legalComments: 'none',
  metafile: true,
});
for (const page of ['callback.html', 'key.svg']) copyFileSync(join(directory, 'src', page), join(dist, page));
const html = readFileSync(join(directory, 'src/index.html'), 'utf8');
writeFileSync(join(dist, 'index.html'), html.replace('  </head>', `${preloads()}  </head>`));
for (const name of readdirSync(dist)) compress(join(dist, name));
writeFileSync(join(dist, 'licences.txt'), licences());

/** Writes the compressed forms of a file, unless it is so small that they save no packet. */
function compress(path) {
  const content = readFileSync(path);
  if (content.length < 1024) return;
  writeFileSync(`${path}.br`, brotliCompressSync(content));
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
}

/** Links to the scripts that the sign-in needs besides main.js: else each is asked for once the one before has come. */
function preloads() {
  const imported = metafile.outputs['dist/main.js'].imports.filter(({ kind }) => kind === 'import-statement');
  const buttons = Object.keys(metafile.outputs).filter((path) => path.startsWith('dist/choice-'));
  return [...imported.map(({ path }) => path), ...buttons]
    .map((path) => `    <link rel="modulepreload" href="/admin/${basename(path)}" />\n`)
    .join('');
}

/** The licence of each bundled package, which MIT requires to be shipped. */
function licences() {
  const packages = Object.keys(metafile.inputs).map(
    (path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(packages)]
    .filter(Boolean)
    .map((folder) => {
      const path = join(directory, folder);
      const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
      const file = readdirSync(path).find((one) => /^licen[cs]e/i.test(one));
      const text =
        file && existsSync(join(path, file)) ? readFileSync(join(path, file), 'utf8').trim() : license;
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
