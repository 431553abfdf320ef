// The user's real-time channel: its events, and a form that pushes one.
import { latchkey } from './client.js';
import { setChannel } from './connection.js';
import { showDevices } from './devices.js';
import { addEvent, addGap, clearFeed } from './feed.js';
import { showChannel } from './flow.js';
import { explain } from './notice.js';
import { addRequest } from './requests.js';

/** Milliseconds. A device that has just signed in opens its channel next, which makes it online but sends no event. */
const ONLINE_AFTER = 2000;
const form = document.getElementById('push');
let later;

/** Opens the signed-in user's channel, from its beginning, so that a reload shows the last events again. */
export async function openChannel() {
  live(false, '');
  try {
    const channel = await latchkey.connect({ offset: 0 });
    live(true);
    channel.on('ready', ({ recovered }) => {
      live(true);
      if (!recovered) addGap();
      showDevices(); // they may have changed while the channel was not connected
    });
    channel.on('disconnect', ({ final }) => final || live(false, 'returning'));
    channel.on('*', (event, data, meta) => {
      addEvent(event, data, meta);
      if (event.startsWith('device.')) changed(event, data, meta);
    });
  } catch (error) {
    if (error.code !== 'signed_out') showChannel('failed', error.code);
    explain(error);
  }
  if (latchkey.session) showDevices();
}

/** The user has signed out. */
export function clearChannel() {
  clearTimeout(later);
  setChannel();
  clearFeed();
}

/** A device of the user's did something, now or before this page was loaded. */
function changed(event, device, { sent_at }) {
  const isNews = Date.now() - Date.parse(sent_at) < ONLINE_AFTER;
  const isOurs = device?.device_id === latchkey.session?.deviceId;
  if (isNews && isOurs && event === 'device.signed_out') return; // the session ends at this moment
  showDevices();
  if (!isNews || isOurs) return;
  clearTimeout(later);
  later = setTimeout(() => latchkey.session && showDevices(), ONLINE_AFTER);
}

function live(is, fact) {
  setChannel(is ? 'live' : 'connecting');
  showChannel(is ? 'done' : 'active', is ? 'subscribed' : fact);
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

/** Calls the service's endpoint for this page, which pushes to the user's own channel only. */
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

/** JSON if the text is JSON, else the text itself. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
