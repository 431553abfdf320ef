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
for (const [path, from, to] of [
  ['package.json', `"version": "${before}"`, `"version": "${version}"`],
  ['Dockerfile', `image.version="${before}"`, `image.version="${version}"`],
]) {
  if (!read(path).includes(from)) throw new Error(`${path} has no ${from}`);
  write(path, read(path).replace(from, to));
}
const today = new Date().toISOString().slice(0, 10);
const section = `## [${version}] - ${today}\n\n${changes.map((text) => `- ${text}\n`).join('')}\n`;
write('CHANGELOG.md', read('CHANGELOG.md').replace(/^## \[/m, `${section}## [`));
run('npm install --package-lock-only --ignore-scripts');
run('npm run --silent build && npm run --silent docs:api');
console.log(`Version ${version}. Commit it, and tag it v${version}.`);
