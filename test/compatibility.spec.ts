import { existsSync, readFileSync } from 'node:fs';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { version: string }>;
};

const rows = read('docs/compatibility.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  .filter(([software]) => software !== 'software' && !/^-+$/.test(software!))
  .map(([software, version, done, needed, test]) => ({ software, version, done, needed, test }));

describe('docs/compatibility.md', () => {
  it('has rows', () => expect(rows.length).toBeGreaterThan(20));

  it.each(rows)('$software $version: says what was done, and has a test or a day', (row) => {
    for (const cell of Object.values(row)) expect(cell).not.toBe('');
    if (/^by hand, \d{4}-\d{2}-\d{2}$/.test(row.test!)) return;
    const paths = row.test!.split(', ').map((path) => path.split(' ')[0]!);
    for (const path of paths) {
      expect(path).toMatch(/^(test|packages)\//);
      expect([path, existsSync(new URL(`../${path}`, import.meta.url))]).toEqual([path, true]);
    }
  });

  const tested = rows.filter(({ test }) => !test!.startsWith('by hand'));
  const npm = tested.flatMap(({ software, version }) => {
    const name = software!.split(/[ ,]/)[0]!;
    const installed = packages[`node_modules/${name}`]?.version;
    return installed === undefined ? [] : [{ name, version, installed }];
  });
  it.each(npm)('$name is the version that the tests use', ({ version, installed }) => {
    expect(version).toBe(installed);
  });
  it('compares versions of npm packages', () => expect(npm.length).toBeGreaterThan(5));
});
