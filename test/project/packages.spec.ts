import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Manifest {
  readonly imports: Record<string, { readonly '@latchkey/source': string; readonly default: string }>;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

const manifestOf = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(ROOT, directory, 'package.json'), 'utf8')) as Manifest;

/** The sources below a directory, as paths from the root. */
const sourcesOf = (directory: string): string[] =>
  readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .map((file) => `${directory}/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));

interface Import {
  readonly path: string;
  /** Imports only types. */
  readonly isType: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8').replace(/^ *(?:\/?\*|\/\/).*/gm, ''); // comments have examples
  const found = text.matchAll(/(?:^(?:import|export) (type )?[^;']*?from |^import |import\()'([^']+)'/gm);
  return [...found].map(([, type, path]) => ({ path: path!, isType: type !== undefined }));
}

const isRelative = ({ path }: Import): boolean => path.startsWith('.');
const isBare = ({ path }: Import): boolean => !/^(?:\.|#|node:)/.test(path);

/** The npm package to which a bare path belongs. */
const packageOf = ({ path }: Import): string =>
  path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');

const packages = readdirSync(join(ROOT, 'packages'));
const service = manifestOf('.');
/** The packages whose sources are compiled into the service: those that it may import. */
const imported = Object.values(service.imports).map((paths) => paths['@latchkey/source'].split('/')[2]!);
const compiledIn = ['adapter-test', ...imported]; // adapter-test is exported only

it('finds imports', () => {
  expect(packages).toEqual(expect.arrayContaining(['client', ...compiledIn]));
  const paths = importsOf('packages/embedded-postgres/src/ownership.ts').map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['node:timers/promises', 'pg', './provision.js']));
  expect(importsOf('src/start/start.ts').map(({ path }) => path)).toContain('#embedded-postgres');
});

describe.each(packages)('packages/%s', (name) => {
  const own = `packages/${name}/src`;
  const { dependencies, optionalDependencies, peerDependencies } = manifestOf(`packages/${name}`);

  it('imports nothing but itself, what it declares, and Node.js', () => {
    const declared = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    for (const file of sourcesOf(own)) {
      for (const one of importsOf(file)) {
        const target = resolve(ROOT, dirname(file), one.path);
        const isOwn = isRelative(one) && target.startsWith(join(ROOT, own, '/'));
        const isDeclared = isBare(one) && declared.includes(packageOf(one));
        // Types of the interface that it tests; the service contains both.
        const isInterface = name === 'adapter-test' && one.isType && target.startsWith(join(ROOT, 'src/'));
        const isAllowed = isOwn || isDeclared || isInterface || one.path.startsWith('node:');
        expect([file, one.path, isAllowed]).toEqual([file, one.path, true]);
      }
    }
  });

  it('has a README, a licence and tests', () => {
    for (const file of ['README.md', 'LICENSE'])
      expect(existsSync(join(ROOT, 'packages', name, file))).toBe(true);
    const files = readdirSync(join(ROOT, 'packages', name), { recursive: true, encoding: 'utf8' });
    expect(files.some((file) => file.endsWith('.spec.ts'))).toBe(true);
  });
});

describe('the service', () => {
  const ships = ['src', ...compiledIn.map((name) => `packages/${name}/src`)].flatMap(sourcesOf);

  // npm does not bundle workspaces (npm/cli#3466): what the service needs of them is compiled into dist/packages.
  it('imports packages by the names of package.json, which lead to the sources here and to dist/ where it is installed', () => {
    for (const [name, paths] of Object.entries(service.imports)) {
      const source = paths['@latchkey/source'];
      expect([name, existsSync(join(ROOT, source))]).toEqual([name, true]);
      expect(paths.default).toBe(source.replace(/^\.\/(.*)\.ts$/, './dist/$1.js'));
    }
    for (const file of sourcesOf('src')) {
      for (const one of importsOf(file)) {
        const target = resolve(ROOT, dirname(file), one.path);
        const isInside = !isRelative(one) || target.startsWith(join(ROOT, 'src/'));
        const isKnown = !one.path.startsWith('#') || one.path in service.imports;
        const isOurs = isBare(one) && packageOf(one).startsWith('@latchkey/');
        expect([file, one.path, isInside && isKnown && !isOurs]).toEqual([file, one.path, true]);
      }
    }
  });

  it('imports what is installed without development dependencies', () => {
    const installed = Object.keys({ ...service.dependencies, ...service.optionalDependencies });
    for (const file of ships) {
      for (const one of importsOf(file)) {
        if (isBare(one) && !one.isType)
          expect([file, installed]).toEqual([file, expect.arrayContaining([packageOf(one)])]);
      }
    }
  });

  it.each(compiledIn)('depends on what %s does, in the same versions', (name) => {
    const { dependencies, optionalDependencies } = manifestOf(`packages/${name}`);
    expect(service.dependencies).toMatchObject(dependencies ?? {});
    expect(service.optionalDependencies).toMatchObject(optionalDependencies ?? {});
  });
});
