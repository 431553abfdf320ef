const { SyntheticModule } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** Packages that a service in the test's process loads, and that take the most time to load. */
const SHARED =
  /^(?:@nestjs\/[\w-]+|class-transformer|class-validator|express|pg|rxjs|socket\.io|typeorm)(?:\/|$)/;

/**
 * Loads these packages once per worker, by Node.js itself; Jest would load them again for each spec file, which costs half a second
 * of CPU time. They belong to the realm of Jest, not to that of the spec file: see `environment.mjs`. Timers of these packages
 * are not replaced by `jest.useFakeTimers()`.
 */
module.exports = class SharingRuntime extends Runtime {
  constructor(...parameters) {
    super(...parameters);
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
      if (!SHARED.test(specifier)) return resolveModule(specifier, from, context);
      if (!modules.has(specifier)) modules.set(specifier, shared(specifier, context));
      return modules.get(specifier);
    };
  }
};

/** A module of the spec file's realm with the exports of a shared package. */
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
