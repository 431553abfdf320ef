// The user's real-time channel: its events, and a form that pushes one.
import { latchkey } from './client.js';
import { setChannel } from './connection.js';
import { addEvent, addGap, clearFeed } from './feed.js';
import { showChannel } from './flow.js';
import { explain } from './notice.js';
import { addRequest } from './requests.js';

const form = document.getElementById('push');

/** Opens the signed-in user's channel, from its beginning, so that a reload shows the last events again. */
export async function openChannel() {
  live(false, '');
  try {
    const channel = await latchkey.connect({ offset: 0 });
    live(true);
    channel.on('ready', ({ recovered }) => {
      live(true);
      if (!recovered) addGap();
    });
    channel.on('disconnect', ({ final }) => final || live(false, 'returning'));
    channel.on('*', addEvent);
  } catch (error) {
    if (error.code !== 'signed_out') showChannel('failed', error.code);
    explain(error);
  }
}

/** The user has signed out. */
export function clearChannel() {
  setChannel();
  clearFeed();
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
