import { connection } from './connection.js';
import { make } from './make.js';
import { explain } from './notice.js';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
let made = 0;

/** @typedef {import('../packages/client/src/index.js').Device} Device */

/** One device: its name, whether it is online, and its buttons. */
export class DeviceRow {
  element = make('li', { className: 'device' });
  #name = make('strong', { className: 'device-name' });
  #current = make('span', { className: 'tag' }, 'This device');
  #state = make('span', { className: 'device-state' });
  #rename = make('button', { type: 'button', className: 'button small' }, 'Rename');
  #signOut = make('button', { type: 'button', className: 'button small danger' }, 'Sign out');
  #input = make('input', {
    id: `device-name-${++made}`,
    maxLength: 128,
    required: true,
    autocomplete: 'off',
  });
  #form;
  #device;

  /** @param {{onRename: (name: string) => Promise<void>, onRemove: (device: Device) => Promise<void>}} actions */
  constructor({ onRename, onRemove }) {
    const cancel = make('button', { type: 'button', className: 'button small' }, 'Cancel');
    this.#form = make(
      'form',
      { className: 'device-form', hidden: true },
      make('label', { className: 'visually-hidden', htmlFor: this.#input.id }, 'Name of the device'),
      this.#input,
      make('button', { className: 'button small primary' }, 'Save'),
      cancel,
    );
    const facts = make(
      'div',
      { className: 'device-facts' },
      make('p', {}, this.#name, ' ', this.#current),
      make('p', {}, this.#state),
    );
    const actions = make('div', { className: 'device-actions' }, this.#rename, this.#signOut);
    this.element.append(make('span', { className: 'device-icon' }), facts, actions, this.#form);

    this.#rename.addEventListener('click', () => this.#edit(true));
    cancel.addEventListener('click', () => this.#edit(false));
    this.#form.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#edit(false));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      onRename(this.#input.value.trim()).then(() => this.#edit(false), explain);
    });
    this.#signOut.addEventListener('click', () => {
      this.#signOut.disabled = true;
      onRemove(this.#device)
        .catch(explain)
        .finally(() => (this.#signOut.disabled = false));
    });
  }

  /** @param {Device} device */
  show(device) {
    const { device_name, user_agent, current, signed_in } = device;
    const name = device_name ?? 'A device without a name';
    this.#device = device;
    this.#name.textContent = name;
    this.#current.hidden = !current;
    this.#rename.hidden = !signed_in;
    this.#signOut.hidden = current; // the menu at the top does that
    this.#rename.ariaLabel = `Rename ${name}`;
    this.#signOut.textContent = signed_in ? 'Sign out' : 'Remove';
    this.#signOut.ariaLabel = `${this.#signOut.textContent} ${name}`;
    this.#signOut.classList.toggle('danger', signed_in);
    this.element.classList.toggle('signed-out', !signed_in);
    this.element.classList.toggle('phone', /Mobile|Android|iPhone/.test(user_agent ?? ''));
    this.update();
  }

  /** Shows again whether the device is online, which is unknown without a connection. */
  update() {
    const [state, text] = presenceOf(this.#device);
    this.#state.className = `device-state ${state}`;
    this.#state.textContent = text;
  }

  #edit(on) {
    this.#form.hidden = !on;
    this.element.classList.toggle('editing', on);
    if (!on) return this.#rename.focus();
    this.#input.value = this.#name.textContent;
    this.#input.select();
  }
}

/** The state, and the words for it. */
function presenceOf({ current, signed_in, online, last_seen_at }) {
  const here = connection();
  const isLive = here === 'live';
  if (!signed_in) return ['', `Signed out, last seen ${ago(last_seen_at)}`]; // `online` may lag behind
  if (current)
    return isLive ? ['online', 'Online'] : ['away', here === 'connecting' ? 'Connecting' : 'Offline'];
  if (online) return isLive ? ['online', 'Online'] : ['away', 'Was online'];
  return ['', `Last seen ${ago(last_seen_at)}`];
}

/** @param {string} time RFC 3339 */
function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? [];
  return unit ? relative.format(-Math.floor(seconds / size), unit) : 'just now';
}
