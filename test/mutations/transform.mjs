import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createTransformer } from '@swc/jest';

/** As `@swc/jest`, but a source that main.ts has instrumented is read from `MUTATIONS_SOURCES`, a folder laid out as `src`. */
export default {
  createTransformer(options) {
    const plain = createTransformer(options);
    const instrumented = (source, path, { config }) => {
      const copy = join(process.env['MUTATIONS_SOURCES'], relative(config.rootDir, path));
      return existsSync(copy) ? readFileSync(copy, 'utf8') : source;
    };
    return {
      getCacheKey: (source, path, jest) => plain.getCacheKey(instrumented(source, path, jest), path, jest),
      process: (source, path, jest) => plain.process(instrumented(source, path, jest), path, jest),
      processAsync: (source, path, jest) => plain.processAsync(instrumented(source, path, jest), path, jest),
    };
  },
};
