import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS } from './faults.js';
import { SOURCES } from './patched-client.js';

/** The storm plants them in full only (`npm run test:proof -- sdk-storm`): without this, a change of the client would be noticed there. */
it.each(FAULTS)('a client that $name can still be made of the one there is', ({ file, from, to }) => {
  expect(readFileSync(join(SOURCES, file), 'utf8').split(from)).toHaveLength(2);
  expect(to).not.toBe(from);
});
