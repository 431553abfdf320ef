// Redirect URI of the page: passes code and state to the page that began the sign-in, or the test.
import { latchkey } from './client.js';
import { passCallback } from './providers/test-channel.js';

/** Milliseconds after which a window that is still open could not be closed by its script. */
const CLOSED = 1000;

const show = (text: string): void => void (document.getElementById('state')!.textContent = text);
const isDone = (): void => void setTimeout(show, CLOSED, 'Done. You can close this window, or open /admin.');

if (passCallback(new URLSearchParams(location.search))) {
  history.replaceState(null, '', location.pathname); // without the code
  window.close();
  isDone();
} else
  latchkey.handleCallback().then(
    () => parent === window && isDone(),
    () => show('This address belongs to no sign-in of this browser. Open /admin and sign in there.'),
  );
