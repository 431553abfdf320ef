// The demo: connects the client's events with the parts of the page.
import { clearChannel, openChannel } from './channel.js';
import { latchkey } from './client.js';
import { clearDevices, showDevices } from './devices.js';
import { reset, showKept, showProgress, showRequest } from './flow.js';
import { explain, notice } from './notice.js';
import { showToken, showUser, tick } from './profile.js';
import { addRequest } from './requests.js';

const element = (id) => document.getElementById(id);
/** The id of the user that the page shows. */
let shown;

function show(session) {
  if (session?.userId === shown) return void (session && showToken()); // a refresh
  shown = session?.userId;
  element('welcome').hidden = Boolean(session);
  element('account').hidden = !session;
  clearChannel();
  clearDevices();
  if (!session) {
    reset();
    element('sign-in').focus();
    return;
  }
  showKept();
  void showUser();
  void showToken();
  void showDevices();
  void openChannel();
}

latchkey.on('progress', showProgress);
latchkey.on('request', (call) => {
  showRequest(call);
  addRequest(call);
});
latchkey.on('change', show);

for (const button of document.querySelectorAll('[data-mode]')) {
  button.addEventListener('click', async () => {
    try {
      await latchkey.signIn({ mode: button.dataset.mode });
      element('name').focus();
    } catch (error) {
      if (error.code === 'cancelled') reset();
    }
  });
}

for (const button of document.querySelectorAll('[data-scope]')) {
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      await latchkey.signOut(button.dataset.scope);
      if (button.dataset.scope === 'others') notice('All other devices are signed out.');
    } catch (error) {
      explain(error);
    } finally {
      button.disabled = false;
    }
  });
}

// `localhost` and `127.0.0.1` are two origins with separate storage: to Latchkey they are two devices.
const twin = { localhost: '127.0.0.1', '127.0.0.1': 'localhost' }[location.hostname];
if (twin) {
  const address = new URL(location.href);
  address.hostname = twin;
  element('second').href = address.href;
  element('second').hidden = false;
  element('private').hidden = true;
}

if (latchkey.session) show(latchkey.session);
setInterval(tick, 1000);
setInterval(() => latchkey.session && !document.hidden && showDevices(), 30_000); // no event tells when `online` changes
