import { restAfter } from './rest.js';

it('rests for a second at most, however long a batch seems to have taken', async () => {
  await expect(restAfter(60_000)).resolves.toBeUndefined();
}, 5000);
