// The redirect URI of the demo (spec §1, step 3): the SDK passes code and state on to the page that began the sign-in.
import { latchkey } from './client.js';

latchkey.handleCallback().catch(() => {
  document.getElementById('waiting').hidden = true;
  document.getElementById('problem').hidden = false;
});
