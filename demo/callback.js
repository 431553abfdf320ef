// The redirect URI of the demo (spec §1, step 3): the SDK passes code and state on to the page that began the sign-in.
import { latchkey } from './client.js';

/** Milliseconds until a popup is closed, if the browser allows it. */
const CLOSED = 1000;

latchkey.handleCallback().then(
  () => parent === window && setTimeout(show, CLOSED, 'done'),
  () => show('problem'),
);

function show(part) {
  document.getElementById('waiting').hidden = true;
  document.getElementById(part).hidden = false;
}
