// Whether what the page shows is live: the network's state, and the channel's.

/** Milliseconds. A connection that returns sooner than this was not worth a word. */
const LOST_AFTER = 1500;
const WORDS = { live: 'Live', connecting: 'Connecting', lost: 'Reconnecting', offline: 'Offline' };
const REASONS = {
  offline:
    'You are offline. What you see is the last known state; all of it goes on by itself when the network returns.',
  lost: 'There is no connection to Latchkey. It is tried again by itself; what you see may be old.',
};

const pill = document.getElementById('live');
const banner = document.getElementById('banner');
const handlers = [];
let channel = 'connecting';
let signedIn = false;
let timer;

/** `live`, `connecting`, or why nothing is known at the moment: `lost`, `offline`. */
export function connection() {
  return navigator.onLine ? channel : 'offline';
}

/** Calls back whenever it changes. */
export function onConnection(handler) {
  handlers.push(handler);
}

/** @param {'live' | 'connecting'} now the channel's state; undefined without a session */
export function setChannel(now) {
  clearTimeout(timer);
  signedIn = now !== undefined;
  channel = now ?? 'connecting';
  if (now === 'connecting') {
    timer = setTimeout(() => {
      channel = 'lost';
      show();
    }, LOST_AFTER);
  }
  show();
}

function show() {
  const state = connection();
  pill.textContent = WORDS[state];
  document.documentElement.dataset.connection = state;
  const reason = signedIn || state === 'offline' ? (REASONS[state] ?? '') : '';
  if (banner.textContent !== reason) banner.textContent = reason; // an equal text would be read out again
  for (const handler of handlers) handler();
}

addEventListener('online', show);
addEventListener('offline', show);
show();
