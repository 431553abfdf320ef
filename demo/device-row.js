import { make } from './make.js';
import { explain } from './notice.js';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
let made = 0;

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
  #facts;

  /** @param {{onRename: (name: string) => Promise<void>, onSignOut: () => Promise<void>}} actions */
  constructor({ onRename, onSignOut }) {
    const cancel = make('button', { type: 'button', className: 'button small' }, 'Cancel');
    this.#form = make(
      'form',
      { className: 'device-form', hidden: true },
      make('label', { className: 'visually-hidden', htmlFor: this.#input.id }, 'Name of the device'),
      this.#input,
      make('button', { className: 'button small primary' }, 'Save'),
      cancel,
    );
    this.#facts = make(
      'div',
      { className: 'device-facts' },
      make('p', {}, this.#name, ' ', this.#current),
      make('p', {}, this.#state),
    );
    const actions = make('div', { className: 'device-actions' }, this.#rename, this.#signOut);
    this.element.append(make('span', { className: 'device-icon' }), this.#facts, actions, this.#form);

    this.#rename.addEventListener('click', () => this.#edit(true));
    cancel.addEventListener('click', () => this.#edit(false));
    this.#form.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#edit(false));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      onRename(this.#input.value.trim()).then(() => this.#edit(false), explain);
    });
    this.#signOut.addEventListener('click', () => {
      this.#signOut.disabled = true;
      onSignOut()
        .catch(explain)
        .finally(() => (this.#signOut.disabled = false));
    });
  }

  /** @param {import('../packages/client/src/index.js').Device} device */
  show({ device_name, user_agent, last_seen_at, current, signed_in, online }) {
    const name = device_name ?? 'A device without a name';
    this.#name.textContent = name;
    this.#current.hidden = !current;
    this.#signOut.hidden = current; // the button at the top does that
    this.#rename.ariaLabel = `Rename ${name}`;
    this.#signOut.textContent = signed_in ? 'Sign out' : 'Remove';
    this.#signOut.ariaLabel = `${this.#signOut.textContent} ${name}`;
    const seen = `${signed_in ? 'Last seen' : 'Signed out, last seen'} ${ago(last_seen_at)}`;
    const isOnline = signed_in && online; // that it is not any more may be known a moment later
    this.#state.textContent = isOnline ? 'Online' : seen;
    this.#state.classList.toggle('online', isOnline);
    this.element.classList.toggle('phone', /Mobile|Android|iPhone/.test(user_agent ?? ''));
  }

  #edit(on) {
    this.#form.hidden = !on;
    this.element.classList.toggle('editing', on);
    if (!on) return this.#rename.focus();
    this.#input.value = this.#name.textContent;
    this.#input.select();
  }
}

/** @param {string} time RFC 3339 */
function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? [];
  return unit ? relative.format(-Math.floor(seconds / size), unit) : 'just now';
}
