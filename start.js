// Runs first in `npm start`: prints a line at once, and compiles what has changed. Plain JavaScript without dependencies, so that it
// can report a missing installation.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
/** Time at which the last successful build began. Each build empties dist/ first. */
const BUILT = `${root}dist/.built`;
const CONFIGURATION = [
  '.swcrc',
  'nest-cli.json',
  'package-lock.json',
  'packages/client/build.js',
  'admin/build.js',
];
/** The page's styles begin with the demo's. */
const PAGE = ['admin/src', 'demo/style.css'];

/** Ends with one line instead of a stack. */
function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

const manifestOf = (folder) => JSON.parse(readFileSync(`${root}${folder}package.json`, 'utf8'));
const { engines, dependencies, devDependencies } = manifestOf('');
const oldest = engines.node.replace('>=', '');
const isOlder = process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0;
if (isOlder) fail(`This is Node.js ${process.versions.node}. Install Node.js ${oldest} or newer.`);
if (!existsSync(`${root}node_modules`)) fail('Nothing is installed. Run `npm ci`.');
const missing = Object.keys({
  ...dependencies,
  ...devDependencies,
  ...manifestOf('admin/').devDependencies,
}).find((name) => !existsSync(`${root}node_modules/${name}`));
if (missing) fail(`A dependency is not installed. Run \`npm ci\`: ${missing}`);

console.log('Latchkey: starting …');
if (isChanged()) await build();

/** Whether a source, or a folder of sources, has changed since the last build began: by `ctime`, which cannot be set back. */
function isChanged() {
  const built = existsSync(BUILT) ? Number(readFileSync(BUILT, 'utf8')) : -Infinity;
  const { compilerOptions } = JSON.parse(readFileSync(`${root}nest-cli.json`, 'utf8'));
  const sources = [
    ...compilerOptions.builder.options.filenames,
    'packages/client/src',
    ...PAGE,
    ...CONFIGURATION,
  ];
  const withContents = (path) =>
    statSync(root + path).isDirectory()
      ? [
          path,
          ...readdirSync(root + path, { recursive: true, encoding: 'utf8' }).map((name) => `${path}/${name}`),
        ]
      : [path];
  return sources.flatMap(withContents).some((path) => statSync(root + path).ctimeMs >= built);
}

/** The client first: the other two contain it. */
async function build() {
  console.log('Latchkey: compiling …');
  const begun = String(Date.now());
  const script = async (...args) => {
    const [status] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'exit');
    if (status !== 0) throw new Error(`${args[0]} failed`);
  };
  try {
    await script('packages/client/build.js', '--scripts');
    await Promise.all([
      script('admin/build.js'),
      script('node_modules/@nestjs/cli/bin/nest.js', 'build', '--silent'),
    ]);
  } catch {
    fail('Latchkey could not be compiled. The compiler’s message is above.');
  }
  writeFileSync(BUILT, begun);
}
