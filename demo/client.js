// One client for the page and its callback. The demo is served by the service itself, so that is where the page is.
import { createClient } from './latchkey-client.js';

const here = new URL('.', document.baseURI).href;

export const latchkey = createClient({
  url: here,
  provider: new URLSearchParams(location.search).get('provider') ?? 'mock',
  redirectUri: `${here}callback`,
  loadSocketIo: () => import('./socket.io-client.js'),
});
