import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { documents } from '../../docs/.vitepress/linked-files.js';
import { textOf, version } from '../support/deployment-files.js';

/** All parts have one version, so that a reader of any of them knows which (docs/versions.md). */
it.each<[file: string, pattern: RegExp]>([
  ...['admin', ...readdirSync('packages').map((name) => `packages/${name}`)].map(
    (folder): [string, RegExp] => [`${folder}/package.json`, /^ {2}"version": "(.*)"/m],
  ),
  ['CHANGELOG.md', /^## \[(.*?)\]/m],
  ['docs/openapi.json', /"version": "(.*)"/],
  ['Dockerfile', /image\.version="(.*?)"/],
  ['docker-compose.yml', /image: latchkey:(.*)/],
  ['deploy/helm/Chart.yaml', /^version: (.*)/m],
  ['deploy/helm/Chart.yaml', /^appVersion: (.*)/m],
  ['verifiers/python/pyproject.toml', /^version = "(.*)"/m],
  ['verifiers/java/pom.xml', /<version>(.*)<\/version>/],
])('%s has the version of package.json', (file, pattern) => {
  expect(pattern.exec(textOf(file))?.[1]).toBe(version);
});

it('documents name packages and images of it', () => {
  const named = [...documents()].flatMap((file) =>
    [...textOf(file).matchAll(/\blatchkey[a-z-]*(?:-|:|@v)(\d+\.\d+\.\d+)/g)].map(([name, found]) => ({
      file,
      name,
      found,
    })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ found }) => found !== version)).toEqual([]);
});

it('the command prints it', () => {
  const printed = execFileSync(process.execPath, ['dist/src/main.js', '--version'], { encoding: 'utf8' });
  expect(printed).toBe(`${version}\n`);
});

it('the surface of the version is frozen, and docs/versions.md has its row', () => {
  expect(existsSync(`docs/surface/${version}.json`)).toBe(true);
  expect(textOf('docs/versions.md')).toMatch(new RegExp(`^\\| ${version.replaceAll('.', '\\.')} `, 'm'));
});

it('the first release is the version of package.json: no change waits for a later one', () => {
  if (!textOf('CHANGELOG.md').includes(`## [${version}] - unreleased`)) return;
  const changes = readdirSync('.changeset').filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(changes).toEqual([]); // CHANGELOG.md has the lines of an unreleased version
});
