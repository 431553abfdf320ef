// What `npm start` does first: it says something at once, and compiles what has changed. Plain JavaScript; nothing
// need be installed to be told so.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));

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
const { build } = await import('./start/build.js');
try {
  await build((what) => console.log(`Latchkey: ${what} …`));
} catch (error) {
  const isReadOnly = ['EACCES', 'EPERM', 'EROFS'].includes(error.code);
  fail(isReadOnly ? `Latchkey cannot write what it compiles: ${error.message}` : error.message);
}
