// One client for the page and its callback. The service itself serves the demo, so its address is the page's.
import { createClient } from '../latchkey-client/index.js';

const here = new URL('.', document.baseURI).href;

/** Provider that the page signs in with. */
export const provider = new URLSearchParams(location.search).get('provider') ?? 'mock';

export const latchkey = createClient({
  url: here,
  provider,
  redirectUri: `${here}callback`,
});
