// `npm run release`: the next version of all packages from the files in .changeset/, and a section of CHANGELOG.md from their lines.
import { execSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');
const write = (path, text) => writeFileSync(new URL(path, ROOT), text);
const run = (command) => execSync(command, { cwd: ROOT, stdio: 'inherit' });

const changes = readdirSync(new URL('.changeset/', ROOT))
  .filter((name) => name.endsWith('.md') && name !== 'README.md')
  .toSorted()
  .map((name) =>
    read(`.changeset/${name}`)
      .replace(/^---\n.*?\n---\n/s, '')
      .trim()
      .replaceAll('\n', '\n  '),
  );
if (changes.length === 0) throw new Error('There is no change in .changeset/. `npm run changeset` adds one.');

const before = JSON.parse(read('package.json')).version;
run('npm run --silent changeset -- version');
const { version } = JSON.parse(read('packages/server/package.json'));
// Files that name the version: of packages, images, the chart, the verifiers (test/project/versions.spec.ts).
const named = new RegExp(
  String.raw`(\blatchkey[a-z-]*(?:-|:|@v)|image\.version="|\b(?:v|appV)ersion: "?|^version = "|^ {2}"version": "|<version>)` +
    String.raw`${before.replaceAll('.', '\\.')}\b`,
  'gm',
);
const files = execSync('git ls-files', { cwd: ROOT, encoding: 'utf8' }).split('\n');
for (const path of files) {
  if (!/\.(?:md|ya?ml|xml|toml)$|^Dockerfile$|^package\.json$/.test(path) || path === 'CHANGELOG.md')
    continue;
  const text = read(path);
  const changed = text.replaceAll(named, (_, name) => name + version);
  if (changed !== text) write(path, changed);
}
// The row `next` says what breaks and what to do; without it, nothing does.
const rows = read('docs/versions.md');
const next = /^\| next +\|/m.test(rows) ? '' : '| next | additions only | nothing |\n';
write(
  'docs/versions.md',
  rows.replace(/^\| (?:next|\d)/m, (row) => next + row).replace('| next', `| ${version}`),
);
run('npx oxfmt docs/versions.md');
const today = new Date().toISOString().slice(0, 10);
const section = `## [${version}] - ${today}\n\n${changes.map((text) => `- ${text}\n`).join('')}\n`;
write('CHANGELOG.md', read('CHANGELOG.md').replace(/^## \[/m, `${section}## [`));
run('npm install --package-lock-only --ignore-scripts');
run('npm run --silent build && npm run --silent docs:api && npm run --silent docs:surface');
write('docs/surface/breaks.json', '{}\n'); // the new surface is without what they name
console.log(`Version ${version}. Commit it, and tag it v${version}.`);
