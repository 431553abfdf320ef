const { readdirSync, readFileSync, statSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { SyntheticModule } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** Packages that a service in the test's process loads, and that take the most time to load. */
const SHARED =
  /^(?:@nestjs\/[\w-]+|class-transformer|class-validator|express|pg|rxjs|socket\.io|typeorm)(?:\/|$)/;

/** In a spec file: it replaces what the shared sources would not see. */
const REPLACES = /useFakeTimers|jest\.(?:replaceProperty|spyOn)\(process\b/;

/**
 * Loads these packages once per worker, by Node.js itself; Jest would load them again for each spec file, which costs half a second
 * of CPU time. So it does with the compiled sources, unless the spec file is among the sources or replaces timers or parts of
 * `process`: another second. They belong to the realm of Jest, not to that of the spec file: see `environment.mjs`. Their timers
 * are not replaced by `jest.useFakeTimers()`; mocks of their methods are restored by Jest at the end of each spec file.
 */
module.exports = class SharingRuntime extends Runtime {
  constructor(...parameters) {
    super(...parameters);
    const [{ rootDir }, , , , , , testPath] = parameters;
    const sources = path.join(rootDir, 'src') + path.sep;
    const sharesSources = !testPath.startsWith(sources) && !REPLACES.test(readFileSync(testPath, 'utf8'));
    const modules = new Map(); // of this spec file
    const { esmLoader } = this;
    if (typeof esmLoader?.resolveModule !== 'function') {
      throw new Error(
        'this version of jest-runtime has no esmLoader.resolveModule, which runtime.cjs replaces',
      );
    }
    // Node 24: it loads graphs at once (from 24.9), and would not call the method below.
    esmLoader.resolution.hasDistinctAsyncResolver = () => true;
    const resolveModule = esmLoader.resolveModule.bind(esmLoader);
    esmLoader.resolveModule = async (specifier, from, context) => {
      const file = specifier.startsWith('.') ? path.join(from, '..', specifier) : '';
      const isSource = sharesSources && file.startsWith(sources);
      if (!isSource && !SHARED.test(specifier)) return resolveModule(specifier, from, context);
      const module = isSource ? compiledOf(rootDir, file.slice(sources.length)) : specifier;
      if (!modules.has(module)) modules.set(module, shared(module, context));
      return modules.get(module);
    };
  }
};

let isBuilt; // whether dist/ is as new as src/; looked up once per worker

/** @returns the URL of a compiled source */
function compiledOf(rootDir, file) {
  const compiled = path.join(rootDir, 'dist/src');
  isBuilt ??= newest(path.join(rootDir, 'src')) <= newest(compiled);
  if (!isBuilt) throw new Error('dist/ is older than src/: `npm run build`');
  return pathToFileURL(path.join(compiled, file)).href;
}

function newest(directory) {
  const files = readdirSync(directory, { recursive: true }).filter((file) =>
    /(?<!\.spec)\.[jt]s$/.test(file),
  );
  return Math.max(...files.map((file) => statSync(path.join(directory, file)).mtimeMs));
}

/** A module of the spec file's realm with the exports of a shared module. */
async function shared(specifier, context) {
  const exported = Object.entries(await import(specifier));
  const names = exported.map(([name]) => name);
  const module = new SyntheticModule(
    names,
    () => exported.forEach(([name, value]) => module.setExport(name, value)),
    { context, identifier: specifier },
  );
  await module.link(() => undefined);
  await module.evaluate();
  return module;
}
