import type { Device } from '../../latchkey.js';
import { fill, type DeviceName } from './device-names.js';
import type { Kit } from '../kit.js';
import { makeQuestion } from '../question.js';

const LAPTOP = 'M6 5h12a1.5 1.5 0 0 1 1.5 1.5v9h-15v-9A1.5 1.5 0 0 1 6 5ZM2.5 19h19';
const PHONE = 'M9 2.8h6a2 2 0 0 1 2 2v14.4a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V4.800a2 2 0 0 1 2-2ZM11 18h2';

/** Whether the page has a connection: `connecting` for its first moments. */
export type Connection = 'connecting' | 'live' | 'away';

interface Actions {
  /** Resolves if the device has the name. */
  readonly rename: (name: string) => Promise<boolean>;
  readonly signOut: (device: Device, name: DeviceName) => Promise<void>;
}

export type DeviceRow = ReturnType<typeof makeRow>;

/** One device of the list, with its buttons and the form for another name. */
export function makeRow(kit: Kit, { rename, signOut }: Actions) {
  const { make, icon, busy, texts } = kit;
  let device: Device;
  let name: DeviceName;
  const picture = make('span', { className: 'icon' });
  const title = make('strong', { dir: 'auto' });
  const tag = make('span', { className: 'tag' }, texts.thisDevice);
  const head = make('p');
  const state = make('p');
  const facts = make('p', { className: 'facts' });
  const button = (text: string, className = ''): HTMLButtonElement =>
    make('button', { type: 'button', className }, text);
  const edit = button(texts.rename);
  const out = button(texts.signOut, 'danger');
  const input = make('input', {
    maxLength: 128,
    required: true,
    autocomplete: 'off',
    ariaLabel: texts.deviceName,
  });
  const cancel = button(texts.cancel);
  const save = make('button', { className: 'main' }, texts.save);
  const form = make('form', { hidden: true }, input, save, cancel);
  const actions = make('div', { className: 'actions' }, edit, out);
  const text = make('div', { className: 'text' }, head, state, facts);
  const element = make('li', {}, picture, text, actions, form);

  const setEditing = (is: boolean): void => {
    form.hidden = !is;
    element.classList.toggle('editing', is);
    if (!is) return edit.focus();
    input.value = device.device_name ?? name.title;
    input.select();
  };
  edit.addEventListener('click', () => setEditing(true));
  cancel.addEventListener('click', () => setEditing(false));
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault(); // a dialog around the list stays open
    setEditing(false);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    if (wanted) void busy(save, async () => (await rename(wanted)) && setEditing(false));
  });
  const question = makeQuestion(kit, element, out, () => signOut(device, name));
  out.addEventListener('click', () => {
    if (device.signed_in) question.ask(fill(texts.signOutQuestion, { device: name.title }));
    else void busy(out, () => signOut(device, name));
  });

  return {
    element,
    /** Focuses a button, after the row above or below has been removed. */
    focus: () => (out.hidden ? edit : out).focus(),
    show(shown: Device, named: DeviceName, connection: Connection): void {
      [device, name] = [shown, named];
      const { current, signed_in: isIn, address, created_at: first, last_seen_at: last } = device;
      title.textContent = name.title;
      head.replaceChildren(title, ...(current ? [' ', tag] : []));
      const isOnline = current ? connection === 'live' : isIn && device.online && connection !== 'away';
      const isOffline = current && connection === 'away';
      const used = make('time', { dateTime: last, title: new Date(last).toLocaleString(texts.language) });
      used.append(name.lastUsed);
      state.className = isOnline ? 'online' : isOffline ? 'away' : '';
      state.replaceChildren(
        ...(isOnline
          ? [texts.online]
          : isOffline
            ? [texts.offline]
            : isIn
              ? [used]
              : [texts.notSignedIn, ' · ', used]),
      );
      const begun = make('time', { dateTime: first }, name.firstUsed);
      const all = [name.agent, address, isOnline && used, begun].filter(Boolean) as (Node | string)[];
      facts.replaceChildren(...all.flatMap((fact, index) => (index ? [' · ', fact] : [fact])));
      const isPhone = /Mobile|Android|iPhone/.test(device.user_agent ?? '');
      picture.replaceChildren(icon(isPhone ? PHONE : LAPTOP));
      element.classList.toggle('out', !isIn);
      if (!isIn) question.close();
      edit.hidden = !isIn;
      out.hidden = current; // the application signs this device out
      out.textContent = isIn ? texts.signOut : texts.remove;
      out.classList.toggle('danger', isIn);
      const labelled = { device: name.label };
      edit.ariaLabel = fill(texts.renameDevice, labelled);
      out.ariaLabel = fill(isIn ? texts.signOutDevice : texts.removeDevice, labelled);
    },
  };
}
