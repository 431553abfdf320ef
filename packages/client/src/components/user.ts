import type { LatchkeyError } from '../latchkey-error.js';
import type { UserOptions } from '../options.js';
import type { Session } from '../session.js';
import type { Kit } from './kit.js';
import { STYLE } from './user-style.js';

const CHEVRON = 'm6 9 6 6 6-6';
/** Pixels between the button and its menu, and between the menu and the window's edge. */
const GAP = 8;

/** Shows the user's button in an element. @param options are read at each sign-out @returns a function that removes it */
export function show(kit: Kit, place: Element, options: UserOptions): () => void {
  const { client, make, texts } = kit;
  const root = kit.mount(place, STYLE, kit.texts.language);
  const button = (text: string, onClick: () => void, className = ''): HTMLButtonElement => {
    const made = make('button', { type: 'button', className }, text);
    made.addEventListener('click', onClick);
    return made;
  };

  const opener = make('button', { type: 'button', className: 'opener' });
  const who = make('div', { className: 'who' });
  const devices = button(texts.yourDevices, () => openDevices());
  const out = button(texts.signOut, () => void signOut('current'));
  const everywhere = button(texts.signOutEverywhere, () => confirm.showModal(), 'danger');
  const menu = make('div', { popover: 'auto', role: 'group' }, who, devices, out, everywhere);
  opener.popoverTargetElement = menu;

  const confirm = makeDialog('alertdialog', texts.everywhereQuestion, make('p', {}, texts.everywhereEffect));
  const cancel = button(texts.cancel, () => confirm.close());
  const sure = button(texts.signOutEverywhere, () => void signOut('all'), 'danger');
  confirm.append(make('div', { className: 'actions' }, cancel, sure));

  const content = make('div', { className: 'content' });
  const list = makeDialog('dialog', texts.yourDevices, content);
  list.querySelector('header')!.append(button('✕', () => list.close(), 'close'));
  list.querySelector<HTMLElement>('.close')!.ariaLabel = texts.close;
  root.append(opener, menu, confirm, list);

  function makeDialog(role: string, title: string, ...children: Node[]): HTMLDialogElement {
    const head = make('header', {}, make('h2', {}, title));
    const dialog = make('dialog', { role, ariaLabel: title }, head, ...children);
    dialog.addEventListener('close', () => opener.focus()); // as for the menu
    return dialog;
  }
  function openDevices(): void {
    menu.hidePopover();
    list.showModal();
    const closed = new Promise((resolve) => {
      list.addEventListener('close', resolve, { once: true });
      left.signal.addEventListener('abort', resolve); // an element that is removed has no event `close`
    });
    client
      .showDevices(content, { onError: (error) => options.onError?.(error) })
      .then((remove) => closed.then(remove))
      .catch((error: LatchkeyError) => {
        content.replaceChildren(make('p', { role: 'alert' }, texts.listFailed));
        options.onError?.(error);
      });
  }
  async function signOut(scope: 'current' | 'all'): Promise<void> {
    menu.hidePopover();
    confirm.close();
    const { provider, redirectUri, onError } = options;
    // In this browser the user is signed out anyway.
    await client.signOut({ scope, provider, redirectUri }).catch((error: LatchkeyError) => onError?.(error));
  }

  const render = (): void => {
    const { session } = client;
    opener.hidden = !session;
    if (!session) {
      menu.hidePopover();
      confirm.close();
      list.close();
      return;
    }
    const { username, email } = session;
    const name = username ?? email;
    opener.ariaLabel = name ? texts.accountOf.replace('{name}', () => name) : texts.account;
    menu.ariaLabel = opener.ariaLabel;
    opener.replaceChildren(avatarOf(session, kit), kit.icon(CHEVRON));
    who.replaceChildren(
      avatarOf(session, kit),
      make('p', {}, make('strong', { dir: 'auto' }, name ?? texts.account)),
    );
    if (username && email) who.lastElementChild!.append(make('span', {}, email));
  };

  // The menu is in the top layer, so it has no position relative to its button.
  menu.addEventListener('beforetoggle', (event) => {
    if (event.newState !== 'open') {
      // Chromium restores the focus to the host of the shadow root, which takes none.
      if (menu.contains(root.activeElement)) opener.focus();
      return;
    }
    const { bottom, left, right } = opener.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    menu.style.top = `${bottom + scrollY + GAP}px`;
    const isAtStart = (left + right) / 2 < width / 2;
    menu.style.left = isAtStart ? `${Math.max(GAP, left)}px` : 'auto';
    menu.style.right = isAtStart ? 'auto' : `${Math.max(GAP, width - right)}px`;
  });
  const left = new AbortController();
  addEventListener('resize', () => menu.hidePopover(), left);
  const offChange = client.on('change', render);
  render();

  return () => {
    left.abort();
    offChange();
    root.host.remove();
  };
}

/** The provider's picture; without one, or if it cannot be loaded, the initials. */
function avatarOf({ username, email, avatarUrl }: Session, { make }: Kit): HTMLElement {
  const initials = (username ?? email ?? '?')
    .split(/\s+/, 2)
    .map((word) => /./u.exec(word)?.[0] ?? '')
    .join('')
    .toUpperCase();
  const avatar = make('span', { className: 'avatar', ariaHidden: 'true' });
  avatar.dataset['initials'] = initials;
  if (avatarUrl) {
    const image = make('img', { alt: '', hidden: true, referrerPolicy: 'no-referrer' });
    image.addEventListener('load', () => (image.hidden = false));
    image.src = avatarUrl;
    avatar.append(image);
  }
  return avatar;
}
