import { missingFor } from './needs.js';

it.each([
  ['of all experiments', ['test/proof/.*'], ['redis-server', 'chromium', 'taskset']],
  ['of one', ['test/proof/.*histories'], ['redis-server']],
  ['of one that needs nothing', ['test/proof/.*fuzz-'], []],
  ['of the tests in a folder', ['test/attacks/'], ['redis-server']],
])('a full run %s names what is missing', (_name, specs, missing) => {
  const found = missingFor(specs, () => false).map((program) =>
    program.replace(/^.*chromium.*$/, 'chromium'),
  );
  expect(found).toEqual(missing);
  expect(missingFor(specs, () => true)).toEqual([]);
});
