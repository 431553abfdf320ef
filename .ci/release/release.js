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
// Files that name the version, with the text around it.
for (const [path, text] of [
  ['package.json', '"version": "VERSION"'],
  ['Dockerfile', 'image.version="VERSION"'],
  ['docker-compose.yml', 'image: latchkey:VERSION'],
  ['deploy/helm/Chart.yaml', 'ersion: VERSION'], // version and appVersion
  ['deploy/kubernetes/latchkey.yaml', 'VERSION'],
  ['docs/containers.md', 'latchkey:VERSION'],
  ['docs/packages.md', '-VERSION.tgz'],
  ['docs/quick-start.md', '-VERSION.tgz'],
  ['docs/supply-chain.md', '-VERSION.tgz'],
  ['docs/test-your-application.md', '-VERSION.tgz'],
  ['examples/provider-adapter/README.md', '-VERSION.tgz'],
  ['verifiers/go/README.md', '@vVERSION'],
  ['verifiers/java/README.md', '<version>VERSION<'],
  ['verifiers/java/pom.xml', '<version>VERSION<'],
  ['verifiers/java/test-apps/pom.xml', '<version>VERSION<'],
  ['verifiers/python/pyproject.toml', 'version = "VERSION"'],
]) {
  const [from, to] = [before, version].map((one) => text.replace('VERSION', one));
  if (!read(path).includes(from)) throw new Error(`${path} has no ${from}`);
  write(path, read(path).replaceAll(from, to));
}
// The row `next` says what breaks and what to do; without it, nothing does.
const rows = read('docs/versions.md');
const next = /^\| next +\|/m.test(rows) ? '' : '| next | additions only | nothing |\n';
write(
  'docs/versions.md',
  rows.replace(/^\| (?:next|\d)/m, (row) => next + row).replace('| next', `| ${version}`),
);
run('npx prettier --write --log-level warn docs/versions.md');
const today = new Date().toISOString().slice(0, 10);
const section = `## [${version}] - ${today}\n\n${changes.map((text) => `- ${text}\n`).join('')}\n`;
write('CHANGELOG.md', read('CHANGELOG.md').replace(/^## \[/m, `${section}## [`));
run('npm install --package-lock-only --ignore-scripts');
run('npm run --silent build && npm run --silent docs:api && npm run --silent docs:surface');
write('docs/surface/breaks.json', '{}\n'); // the new surface is without what they name
console.log(`Version ${version}. Commit it, and tag it v${version}.`);
