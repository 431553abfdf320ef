// Redirect URI of the page: the client passes code and state to the page that began the sign-in.
import { latchkey } from './client.js';

/** Milliseconds until a window is still open only because the browser did not let the page close it. */
const CLOSED = 1000;

const show = (text: string): void => void (document.getElementById('state')!.textContent = text);

latchkey.handleCallback().then(
  () => parent === window && setTimeout(show, CLOSED, 'Done. You can close this window.'),
  () => show('This address belongs to no sign-in of this browser. Open /admin and sign in there.'),
);
