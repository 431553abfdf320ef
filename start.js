// What `npm start` does first: it says something at once, and compiles what has changed. Plain JavaScript; nothing
// need be installed to be told so.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
/** When the last build began that has succeeded. Every build empties dist/ first. */
const BUILT = `${root}dist/.built`;
const CONFIGURATION = ['.swcrc', 'nest-cli.json', 'package-lock.json', 'packages/client/build.js'];

/** Ends with one line for what is wrong, before a stack of something that is too old or missing. */
function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

const { engines, dependencies, devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const least = engines.node.replace('>=', '');
const isOlder = process.versions.node.localeCompare(least, 'en', { numeric: true }) < 0;
if (isOlder) fail(`Latchkey needs Node.js ${least} or newer; this is ${process.versions.node}.`);
if (!existsSync(`${root}node_modules`)) fail('Run `npm ci` first: nothing is installed yet.');
// After a `git pull`, or an installation without what compiles.
const missing = Object.keys({ ...dependencies, ...devDependencies }).find(
  (name) => !existsSync(`${root}node_modules/${name}`),
);
if (missing) fail(`Run \`npm ci\` first: ${missing} is not installed.`);

console.log('Latchkey: starting …');
if (isChanged()) build();

/** Whether a source, or a folder of sources, has changed since the last build began. Times of contents can be set back; these cannot. */
function isChanged() {
  const built = existsSync(BUILT) ? Number(readFileSync(BUILT, 'utf8')) : -Infinity;
  const { compilerOptions } = JSON.parse(readFileSync(`${root}nest-cli.json`, 'utf8'));
  const sources = [...compilerOptions.builder.options.filenames, 'packages/client/src', ...CONFIGURATION];
  const withContents = (path) =>
    statSync(root + path).isDirectory()
      ? [
          path,
          ...readdirSync(root + path, { recursive: true, encoding: 'utf8' }).map((name) => `${path}/${name}`),
        ]
      : [path];
  return sources.flatMap(withContents).some((path) => statSync(root + path).ctimeMs >= built);
}

function build() {
  console.log('Latchkey: compiling …');
  const begun = String(Date.now());
  for (const args of [
    ['packages/client/build.js'],
    ['node_modules/@nestjs/cli/bin/nest.js', 'build', '--silent'],
  ]) {
    const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
    if (status !== 0) fail('Latchkey could not be compiled.');
  }
  writeFileSync(BUILT, begun);
}
