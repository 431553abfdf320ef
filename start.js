// What `npm start` does first: it says something at once, and compiles. Plain JavaScript that needs nothing installed.
import { spawnSync } from 'node:child_process';
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

// Always: what is compiled never differs from the sources, and there is nothing to clear away after a `git pull`.
console.log('Latchkey: compiling, a few seconds …');
const began = performance.now();
for (const command of [
  ['packages/client/build.js'],
  ['node_modules/@nestjs/cli/bin/nest.js', 'build', '--path', 'tsconfig.start.json'],
]) {
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
console.log(`Latchkey: compiled in ${Math.round((performance.now() - began) / 1000)} s, starting …`);
