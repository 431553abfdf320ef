import { readdirSync, readFileSync } from 'node:fs';
import { RECOMMENDED, SUPPORTED } from './versions.js';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const filesBelow = (place: string): string[] =>
  readdirSync(new URL(place, root), { recursive: true, encoding: 'utf8' }).map((file) => `${place}/${file}`);

const packages = readdirSync(new URL('packages', root)).map((name) => `packages/${name}`);
const LEAST = SUPPORTED[0];
const NEWEST = SUPPORTED.at(-1)!;

describe('the versions of Node.js', () => {
  it.each(['.', ...packages])('are those of `engines` in %s', (place) => {
    const { engines } = JSON.parse(read(`${place}/package.json`)) as { readonly engines: unknown };
    expect(engines).toEqual({ node: `>=${LEAST}` });
  });

  it('that the image brings is the one that the documents name', () => {
    const images = [...read('Dockerfile').matchAll(/^FROM node:(\d+)\./gm)].map(([, major]) => major);
    expect([...new Set(images)]).toEqual([RECOMMENDED]);
  });

  it.each(['README.md', 'docs/production.md', ...packages.map((place) => `${place}/README.md`)])(
    'are the same in %s',
    (document) => {
      const text = read(document);
      if (!document.startsWith('packages/')) expect(text).toContain(`Node.js ${RECOMMENDED}`);
      const least = [...text.matchAll(/Node\.js[^.\n]{0,20}≥ (\d+(?:\.\d+)*)/g)].map(
        ([, version]) => version,
      );
      expect([...new Set(least)]).toEqual([LEAST]);
    },
  );

  it('that the nightly CI tries are the least and the newest', () => {
    for (const version of [LEAST, NEWEST])
      expect(read('.ci/nightly')).toMatch(new RegExp(`test:all -- node ${version}\\s`));
    const all = `${SUPPORTED.slice(0, -1).join(', ')} and ${NEWEST}`;
    for (const document of ['README.md', 'CONTRIBUTING.md']) expect(read(document)).toContain(all);
  });

  // So that `grep -rn 'Node 20:'` lists what can go when 20 does.
  it('for which something is done are marked in one way, with a colon', () => {
    const code = ['src', 'test', 'lab', ...packages.map((place) => `${place}/src`)].flatMap(filesBelow);
    const sources = code.filter(
      (file) => /\.[cm]?[jt]s$/.test(file) && !/^test\/node\/|\/node_modules\//.test(file),
    );
    const majors = SUPPORTED.map((version) => version.split('.')[0]).join('|');
    const lines = ['tsconfig.json', ...sources].flatMap((file) => read(file).split('\n'));
    const said = lines.filter((line) =>
      new RegExp(`(?://|\\*).*\\bNode(?:\\.js)? v?(?:${majors})\\b`).test(line),
    );
    expect(said.filter((line) => !/\bNode \d+: /.test(line))).toEqual([]);
    expect(said).not.toEqual([]);
  });
});
