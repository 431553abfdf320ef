// The user's real-time channel: what comes, and a form that pushes.
import { latchkey } from './client.js';
import { showDevices } from './devices.js';
import { addEvent, addGap, clearFeed } from './feed.js';
import { showChannel } from './flow.js';
import { explain } from './notice.js';
import { addRequest } from './requests.js';

/** Who has just signed in opens their channel next; that sends no event. Milliseconds. */
const ONLINE_AFTER = 2000;
const pill = document.getElementById('live');
const form = document.getElementById('push');

/** Opens the channel of whoever is signed in; from its beginning, so that a reload shows the last events again. */
export async function openChannel() {
  showChannel('active', '');
  try {
    const channel = await latchkey.connect({ offset: 0 });
    live(true, channel.offset);
    channel.on('ready', ({ offset, recovered }) => {
      live(true, offset);
      if (!recovered) addGap();
      void showDevices(); // it may have missed what happened to them
    });
    channel.on('disconnect', ({ final }) => final || live(false));
    channel.on('*', (event, data, meta) => {
      addEvent(event, data, meta);
      if (!event.startsWith('device.')) return;
      void showDevices();
      setTimeout(() => latchkey.session && showDevices(), ONLINE_AFTER);
    });
    void showDevices(); // we are online now
  } catch (error) {
    if (error.code !== 'signed_out') showChannel('failed', error.code);
    explain(error);
  }
}

/** Nobody is signed in any more. */
export function clearChannel() {
  live(false);
  clearFeed();
}

function live(is) {
  pill.textContent = is ? 'Live' : 'Connecting';
  pill.classList.toggle('online', is);
  if (is) showChannel('done', 'subscribed');
  else if (latchkey.session) showChannel('active', 'returning');
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  try {
    await push(form.elements.event.value.trim(), read(form.elements.data.value));
  } catch (error) {
    explain(error);
  } finally {
    button.disabled = false;
  }
});

/** The service's endpoint for this page: its user's own channel, and no other. */
async function push(event, data) {
  const [method, path] = ['POST', '/demo/push'];
  const begun = performance.now();
  const answer = await latchkey.fetch(new URL(`.${path}`, document.baseURI), {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ event, data }),
  });
  addRequest({ method, path, status: answer.status, duration: performance.now() - begun });
  if (!answer.ok) throw new Error((await answer.json()).error_description);
}

/** JSON where it is some, else a text. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
