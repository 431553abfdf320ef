import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

it('tests are skipped by needs() of test/support/installed.ts alone, which prints the reason', () => {
  const specs = ['src', 'test', 'packages']
    .flatMap((folder) =>
      readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => path.endsWith('.spec.ts') && !path.includes('node_modules'));
  const skips = /\b(?:x?(?:describe|it|test)\.skip|x(?:describe|it|test))\b/;
  expect(specs.length).toBeGreaterThan(150);
  expect(specs.filter((path) => skips.test(readFileSync(new URL(path, ROOT), 'utf8')))).toEqual([]);
});
