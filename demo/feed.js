// The list of the channel's events, newest first.
import { make } from './make.js';

const MOST = 50;
const list = document.getElementById('feed');
const empty = document.getElementById('feed-empty');

/** @param {string} event @param {unknown} data @param {import('../packages/client/src/index.js').EventMeta} meta */
export function addEvent(event, data, { offset, sent_at }) {
  const kind = event.startsWith('device.') ? 'service' : 'pushed';
  const time = make('time', { dateTime: sent_at }, new Date(sent_at).toLocaleTimeString());
  const number = make('span', { className: 'offset' }, offset === null ? 'not kept' : `#${offset}`);
  const head = make('p', {}, make('strong', {}, event), number, time);
  add(make('li', { className: 'fresh', dataset: { kind } }, head, make('code', {}, textOf(kind, data))));
}

/** Events were lost: an application that relies on them would now load its data again. */
export function addGap() {
  add(
    make(
      'li',
      { dataset: { kind: 'gap' } },
      make('p', {}, 'Some events were lost while this page was away.'),
    ),
  );
}

export function clearFeed() {
  list.replaceChildren();
  empty.hidden = false;
}

function add(item) {
  empty.hidden = true;
  list.prepend(item);
  while (list.children.length > MOST) list.lastElementChild.remove();
}

function textOf(kind, data) {
  if (kind === 'service' && data?.device_id) return data.device_name ?? data.device_id;
  return typeof data === 'string' ? data : JSON.stringify(data);
}
