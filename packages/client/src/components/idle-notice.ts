import type { LatchkeyError } from '../latchkey-error.js';
import type { IdleNoticeOptions } from '../options.js';
import { STYLE } from './idle-notice-style.js';
import type { Kit } from './kit.js';

/** Seconds before the end at which screen readers say how much is left, besides the beginning. */
const SAID = [30, 10];
/** Keys that lead to a button; any other one shows that the user is there. */
const KEYS = ['Tab', 'Shift', 'Enter', ' ', 'Escape', 'Control', 'Alt', 'Meta'];

/**
 * Shows a dialog with a countdown while the session is about to end for want of an action. What the user does in it is no action by
 * itself: its buttons decide.
 * @param options are read at each use @returns a function that removes it
 */
export function show(
  { client, make, mount, texts }: Kit,
  place: Element,
  options: IdleNoticeOptions,
): () => void {
  const root = mount(place, STYLE, texts.language);
  root.host.setAttribute('data-latchkey-idle', '');
  const act = (work: () => Promise<void>): void => {
    work().catch((error: LatchkeyError) => options.onError?.(error));
  };
  const stay = (): void => act(client.stay);

  const countdown = make('p', { ariaHidden: 'true' });
  const said = make('p', { id: 'said', role: 'status', className: 'said' });
  const button = (text: string, onClick: () => void, className = ''): HTMLButtonElement => {
    const made = make('button', { type: 'button', className }, text);
    made.addEventListener('click', onClick);
    return made;
  };
  const main = button(texts.stay, stay, 'main');
  const out = button(texts.signOut, () => act(client.signOut));
  const dialog = make(
    'dialog',
    { role: 'alertdialog', ariaLabel: texts.stillThere },
    make('h2', {}, texts.stillThere),
    countdown,
    said,
    make('div', { className: 'actions' }, out, main),
  );
  dialog.setAttribute('aria-describedby', 'said');
  main.autofocus = true;
  root.append(dialog);

  dialog.addEventListener('cancel', stay);
  dialog.addEventListener('click', ({ target }) => target === dialog && stay()); // beside it
  dialog.addEventListener('keydown', ({ key }) => KEYS.includes(key) || stay());

  const tell = (seconds: number): string =>
    texts.idleEnd.replace('{when}', new Intl.RelativeTimeFormat(texts.language).format(seconds, 'second'));
  let timer: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    const seconds = Math.max(0, Math.ceil((Date.parse(client.idleEndsAt!) - Date.now()) / 1000));
    countdown.textContent = tell(seconds);
    if (!dialog.open || SAID.includes(seconds)) said.textContent = countdown.textContent;
  };
  const render = (): void => {
    clearInterval(timer);
    if (!client.idleEndsAt) return dialog.close();
    tick();
    if (!dialog.open) dialog.showModal();
    timer = setInterval(tick, 1000);
  };
  const stop = client.on('idle', render);
  render();

  return () => {
    clearInterval(timer);
    stop();
    root.host.remove();
  };
}
