// The demo: connects the client's events with the parts of the page.
import { clearChannel, openChannel } from './channel.js';
import { latchkey, provider } from './client.js';
import { make } from './make.js';
import { reset, showKept, showProgress, showRequest } from './flow.js';
import { explain } from './notice.js';
import { showSecondDevice } from './second-device.js';
import { showToken, showUser, tick } from './profile.js';
import { addRequest } from './requests.js';
import './snippets.js';

const element = (id) => document.getElementById(id);
/** The id of the user that the page shows. */
let shown;

function show(session) {
  if (session?.userId === shown) return void (session && showToken()); // a refresh
  shown = session?.userId;
  element('welcome').hidden = Boolean(session);
  element('account').hidden = !session;
  clearChannel();
  if (!session) {
    reset();
    element('sign-in').focus();
    return;
  }
  showKept();
  void showUser();
  void showToken();
  void openChannel();
}

latchkey.on('progress', showProgress);
latchkey.on('request', (call) => {
  showRequest(call);
  addRequest(call);
});
latchkey.on('change', show);

/** @param {string} [mode] by default that of the provider's settings */
async function signIn(mode) {
  try {
    await latchkey.signIn({ mode: mode || undefined });
    element('name').focus();
  } catch (error) {
    if (error.code === 'cancelled') reset();
  }
}
for (const button of document.querySelectorAll('[data-mode]'))
  button.addEventListener('click', () => signIn(button.dataset.mode));

/** A link for each provider, if there are several. */
async function showProviders() {
  const providers = await latchkey.providers();
  if (providers.length < 2) return;
  const links = providers.map(({ name, label }) =>
    make(
      'a',
      {
        href: `?provider=${encodeURIComponent(name)}`,
        ...(name === provider && { 'aria-current': 'true' }),
      },
      label,
    ),
  );
  element('providers').append(...links.flatMap((link) => [' ', link]));
  element('providers').hidden = false;
}

if (latchkey.session) show(latchkey.session);
if (showSecondDevice() && !latchkey.session) void signIn();
setInterval(tick, 1000);
showProviders().catch(explain);
latchkey.showUser(element('user'), { onError: explain }).catch(explain);
latchkey.showDevices(element('devices')).catch(explain);
