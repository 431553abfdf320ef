import { STYLE } from './dialog-style.js';
import { explain } from './explain.js';
import type { LatchkeyError } from './latchkey-error.js';
import type { Texts } from './texts.js';
import english from './texts/en.js';

/** Milliseconds until a page that loads is called slow. */
const SLOW = 4000;
/** The heights that a provider's page may ask for; CSS pixels. */
const [LOWEST, HIGHEST] = [160, 1600];

/** What the user can do: the words on a button, and what it does. */
type Action = readonly [label: string, onClick: () => void];

/** The login dialog (spec §1). */
export interface SignInDialog {
  /** Shows that something is going on. @param framed before, or after, a frame: the dialog stays as high */
  readonly wait: (framed: boolean) => void;
  /**
   * Shows the provider's page in a frame. Whether the provider forbids that no script can see, so there is always a button for a
   * window of its own.
   * @param onRefused called when the policy of the page around forbids that frame
   */
  readonly frame: (url: string, onNewWindow: () => void, onRefused: () => void) => Window;
  /** Makes the frame as high as its content. @param wanted as the provider's page says, so it may be anything */
  readonly resize: (wanted: unknown) => void;
  /** Says something, and what can be done; the first action is the proposed one. @param role `alert` for a problem */
  readonly say: (role: 'alert' | 'status', text: string, ...actions: readonly Action[]) => void;
  /** Says what a failure means, and offers another attempt. */
  readonly fail: (error: LatchkeyError, onRetry: () => void) => void;
  readonly close: () => void;
}

/**
 * A native `<dialog>`: focus stays inside, Escape closes it, and focus returns to where it was. Its shadow keeps the
 * page's styles out; its style sheet is constructed, which every Content Security Policy allows.
 */
export function makeDialog(texts: Texts, onClose: () => void): SignInDialog {
  Object.assign(texts, { ...english, ...texts }); // English where nothing else has come yet
  let dialog: HTMLDialogElement | undefined;
  let title: HTMLElement;
  let status: HTMLElement;
  let content: HTMLElement;
  let closing: HTMLElement;
  let box: HTMLElement;
  /** As the provider's page has asked for; empty: that of the style sheet. */
  let height = '';
  /** Ends what concerns the present content. */
  let leave = (): void => undefined;

  /** At once, not with the event `close`, which comes later: by then there may be another sign-in. */
  const end = (): void => {
    if (!dialog) return;
    leave();
    (dialog.getRootNode() as ShadowRoot).host.remove();
    dialog = undefined;
    onClose();
  };
  const close = (): void => {
    dialog?.close();
    end();
  };

  const open = (): void => {
    const host = make('div', {});
    height = '';
    dialog = make('dialog', { tabIndex: -1, dir: 'auto' }); // `auto`: an application may have words of its own
    dialog.part.add('dialog'); // so that a page may place it: `::part(dialog)`
    title = make('h2', { dir: 'auto' });
    status = make('p', { role: 'status' });
    content = make('section', {});
    closing = button(['✕', close]);
    const head = make('header', {});
    head.append(title, closing);
    dialog.append(head, status, content);
    const opened = dialog;
    opened.addEventListener('close', () => opened === dialog && end()); // by Escape
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    const shadow = host.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(dialog);
    document.body.append(host);
    dialog.autofocus = true; // after the insertion: otherwise Chromium logs an error in a frame of another site
    dialog.showModal();
  };

  /** Shows a state of the dialog, in the language that has come by now. */
  const show = (state: string, heading: string, message: string, ...children: readonly Node[]): void => {
    leave();
    if (!dialog) open();
    dialog!.className = state;
    dialog!.lang = texts.language;
    dialog!.ariaLabel = texts.signIn;
    closing.ariaLabel = texts.close;
    title.textContent = heading;
    status.textContent = message;
    content.replaceChildren(...children);
    dialog!.focus();
  };

  /** Room for the provider's page, with the outline of a form. */
  const makeBox = (className: string): HTMLElement => {
    box = make('div', { className });
    const outline = make('i', { ariaHidden: 'true' });
    box.append(outline);
    return outline;
  };

  const say: SignInDialog['say'] = (role, text, ...actions) => {
    const buttons = actions.map(button);
    const alert = make('p', { role: 'alert', textContent: text });
    if (role === 'alert') show('', texts.signIn, '', alert, ...buttons);
    else show('', texts.signIn, text, ...buttons);
    if (!buttons[0]) return;
    buttons[0].className = 'main';
    buttons[0].focus();
  };

  return {
    wait(framed) {
      makeBox(framed ? 'box' : 'box low');
      if (framed) box.style.height = height;
      show('wait', texts.signIn, texts.wait, box);
    },
    frame(url, onNewWindow, onRefused) {
      const { host, origin } = new URL(url);
      // `*`: the provider may redirect to another origin. No more than a login needs: `storage-access` is allowed by default, and
      // passkeys are created (`publickey-credentials-create`) in a window.
      const allow = 'publickey-credentials-get *';
      const frame = make('iframe', { title: texts.signIn, src: url, allow });
      const outline = makeBox('box');
      const hint = make('p', { role: 'status' });
      const foot = make('footer', {});
      foot.append(hint, button([texts.newWindow, onNewWindow]));
      box.append(frame);
      // The page in the frame has a title of its own; a browser would show its address.
      show('frame', host, '', box, foot);
      const listening = new AbortController();
      const timer = setTimeout(() => (hint.textContent = texts.slow), SLOW);
      const cancel = (): void => clearTimeout(timer);
      leave = () => (cancel(), listening.abort());
      frame.addEventListener('load', () => {
        cancel();
        hint.textContent = '';
        if (outline.isConnected) frame.focus();
        outline.remove();
      });
      document.addEventListener(
        'securitypolicyviolation',
        ({ disposition, effectiveDirective, blockedURI }) => {
          if (disposition !== 'enforce') return; // a policy that is only being tried
          if (effectiveDirective === 'frame-src' && blockedURI.startsWith(origin)) onRefused();
        },
        listening,
      );
      return frame.contentWindow!;
    },
    resize(wanted) {
      const pixels = Math.min(Math.max(Number(wanted), LOWEST), HIGHEST);
      if (!pixels) return; // NaN
      height = `${pixels}px`;
      box.style.height = height;
    },
    say,
    fail: (error, onRetry) => say('alert', explain(error, texts), [texts.retry, onRetry]),
    close,
  };
}

function button([textContent, onclick]: Action): HTMLButtonElement {
  return make('button', { type: 'button', textContent, onclick });
}

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
): HTMLElementTagNameMap[Name] {
  return Object.assign(document.createElement(name), properties);
}
