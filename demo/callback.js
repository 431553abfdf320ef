// The redirect URI of the demo (spec §1, step 3): hands code and state on to the page that began the sign-in.
import { keepCallback } from './session.js';

const query = Object.fromEntries(new URLSearchParams(location.search));
history.replaceState(null, '', location.pathname); // a code has no place in an address, spent or not

if (window.parent !== window) {
  window.parent.postMessage({ type: 'latchkey-callback', query }, location.origin); // nobody else may read it
} else {
  keepCallback(query);
  location.replace('./');
}
