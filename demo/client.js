// One client for the page and its callback. The service itself serves the demo, so its address is the page's.
import { createClient } from '../latchkey-client/index.js';

const here = new URL('.', document.baseURI).href;

export const latchkey = createClient({
  url: here,
  provider: new URLSearchParams(location.search).get('provider') ?? 'mock',
  redirectUri: `${here}callback`,
});
