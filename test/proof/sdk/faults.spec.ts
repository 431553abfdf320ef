import { FAULTS } from './faults.js';
import { patchedClient } from './patched-client.js';

/** The storm plants them in full only (`npm run test:proof -- sdk-storm`): without this, a change of the client would be noticed there. */
it.each(FAULTS)('a client that $name can still be made of the one there is', async (fault) => {
  expect((await patchedClient(fault)).get('index.js')).toBeTruthy();
});
