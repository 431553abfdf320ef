import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { PACKED, tarballOf, type Packed } from '../support/package-project.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Contents {
  /** Upper bound for the bytes of the tarball. */
  readonly most: number;
  /** All files besides package.json, README.md and LICENSE. */
  readonly files: readonly RegExp[];
  readonly exports: readonly string[];
  readonly dependencies?: readonly string[];
  readonly peers?: readonly string[];
}

const COMPILED = '[a-z0-9.-]+\\.js(?:\\.map)?';
const TYPES = '[a-z0-9.-]+\\.d\\.ts';
const CONTENTS: Record<Packed, Contents> = {
  latchkey: {
    most: 2_700_000,
    files: [
      new RegExp(`^dist/src/(?:[a-z-]+/)*${COMPILED}$`),
      /^dist\/src\/features\/(?:[a-z-]+\/)*texts\.json$/,
      new RegExp(
        `^dist/packages/(?:adapter-test|check-provider|embedded-postgres)/src/(?:[a-z-]+/)*${COMPILED}$`,
      ),
      // what the demo page loads: neither the development build nor the hooks for React
      /^dist\/packages\/client\/dist\/(?!development|react)[a-z-]+\.js(?:\.map)?$/,
      new RegExp(`^dist/src/(?:platform/config|provider)/(?:[a-z-]+/)*${TYPES}$`), // latchkey/adapter
      new RegExp(`^dist/packages/adapter-test/src/${TYPES}$`), // latchkey/adapter-test
      /^admin\/dist\/[a-zA-Z0-9-]+\.(?:html|css|js|svg|txt)(?:\.br|\.gz)?$/,
      /^demo\/[a-z-]+\.(?:html|css|js)$/,
      /^docs\/openapi\.(?:html|json)$/,
    ],
    exports: ['./adapter', './adapter-test', './package.json'],
  },
  client: {
    most: 330_000, // half of it are maps
    files: [/^dist\/[a-z-]+\.js(?:\.map)?$/, new RegExp(`^dist/types/(?:[a-z-]+/)*${TYPES}$`)],
    exports: ['.', './react', './package.json'],
    dependencies: [],
    peers: ['react'],
  },
  server: {
    most: 172_000,
    files: [new RegExp(`^dist/(?:[a-z-]+/)?(?:${COMPILED}|${TYPES})$`)],
    exports: ['.', './express', './fastify', './hono', './nestjs', './session', './package.json'],
    dependencies: ['jose'],
    peers: ['fastify', 'hono'],
  },
  'check-provider': {
    most: 62_000,
    files: [new RegExp(`^dist/(?:(?:rules|sign-in)/)?${COMPILED}$`)],
    exports: ['./package.json'],
    dependencies: [],
  },
  'embedded-postgres': {
    most: 62_000,
    files: [new RegExp(`^dist/(?:${COMPILED}|${TYPES})$`)],
    exports: ['.', './temporary', './package.json'],
    dependencies: ['pg'],
  },
};

/** Files that no package may contain. */
const NEVER = /\.spec\.|(?:^|\/)(?:test|testing|bench|data|coverage)\/|\.env|\.npmrc|\.log$|tsconfig|\.tgz$/;

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly (string | null)[];
}

it('covers every package; the service contains adapter-test', () => {
  const all = [...PACKED.slice(1), 'adapter-test'];
  expect(all.toSorted()).toEqual(readdirSync(join(ROOT, 'packages')).toSorted());
});

describe.each(PACKED)('%s, packed', (name) => {
  let directory: string;
  let tarball: Buffer;
  let files: string[];

  const read = (file: string): string => readFileSync(join(directory, 'package', file), 'utf8');

  beforeAll(async () => {
    const path = await tarballOf(name);
    tarball = readFileSync(path);
    directory = mkdtempSync(join(tmpdir(), 'latchkey-contents-'));
    await promisify(execFile)('tar', ['-xzf', path, '-C', directory]);
    const entries = readdirSync(join(directory, 'package'), { recursive: true, withFileTypes: true });
    const place = join(directory, 'package/');
    files = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(place.length));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('holds exactly what is needed: no test, no secret, no data', () => {
    const expected = CONTENTS[name].files;
    const always = ['package.json', 'README.md', 'LICENSE'];
    expect(files).toEqual(expect.arrayContaining(always));
    const others = files.filter((file) => !always.includes(file));
    expect(others.filter((file) => !expected.some((pattern) => pattern.test(file)))).toEqual([]);
    for (const pattern of expected) expect([pattern, others.some((file) => pattern.test(file))]).toEqual([pattern, true]); // oxfmt-ignore
    expect(files.filter((file) => NEVER.test(file))).toEqual([]);
    expect(read('LICENSE')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
    expect(tarball.length).toBeLessThan(CONTENTS[name].most);
  });

  it('says what it is, what may be imported of it, and how it is published', () => {
    const manifest = JSON.parse(read('package.json')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      description: expect.stringMatching(/\.$/),
      keywords: expect.arrayContaining([expect.any(String)]),
      license: 'MIT',
      type: 'module',
      publishConfig: { access: 'public', provenance: true },
    });
    const { exports, dependencies, peers = [] } = CONTENTS[name];
    expect(Object.keys(manifest['exports'] as object)).toEqual(exports);
    const needed = Object.keys(manifest['dependencies'] ?? {});
    if (dependencies) expect(needed).toEqual(dependencies);
    expect(needed.filter((one) => one.startsWith('@latchkey/'))).toEqual([]);
    expect(Object.keys(manifest['peerDependencies'] ?? {})).toEqual(peers);
    for (const [path] of JSON.stringify(manifest['exports']).matchAll(/(?<=:"\.\/)[^"]+/g))
      expect(files).toContain(path);
    // Bundlers keep all code of a package with side effects.
    if (exports.includes('.')) expect(manifest['sideEffects']).toBe(false);
  });

  it('brings source maps with the sources in them, by paths that are the same on every machine', () => {
    const scripts = files.filter((file) => file.startsWith('dist/') && file.endsWith('.js'));
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      expect([script, read(script)]).toEqual([script, expect.stringMatching(/\n\/\/# sourceMappingURL=\S+\.js\.map\n?$/)]); // oxfmt-ignore
      const { sources, sourcesContent } = JSON.parse(read(`${script}.map`)) as SourceMap;
      expect([script, sourcesContent?.length]).toEqual([script, sources.length]);
      expect([script, sourcesContent?.every((text) => text)]).toEqual([script, true]);
      for (const source of sources) expect([script, source]).toEqual([script, expect.stringMatching(/^\.\.\/[\w./-]+\.ts$/)]); // oxfmt-ignore
    }
    const ours = [ROOT, `${tmpdir()}/latchkey-`];
    const found = files.filter((file) => ours.some((path) => read(file).includes(path)));
    expect(found).toEqual([]);
  });

  it('passes publint', async () => {
    const { buffer, byteOffset, byteLength } = tarball;
    const packed = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    const { messages } = await publint({ pack: { tarball: packed }, strict: true });
    expect(messages).toEqual([]);
  });

  it('has types for each way of importing it', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
    const problems = analysis.types ? analysis.problems : [];
    // All supported versions of Node.js can `require()` an ES module. With two builds, classes and state would exist twice.
    expect(problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([]);
    expect(analysis.types !== false).toBe(files.some((file) => file.endsWith('.d.ts')));
  });
});
