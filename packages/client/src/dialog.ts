import { STYLE } from './dialog-style.js';
import type { Texts } from './texts.js';

/** The login dialog (spec §1). */
export interface SignInDialog {
  /** Shows that something is going on. */
  readonly progress: (text: string) => void;
  /**
   * Shows the provider's page in a frame.
   * @param onRefused called when the page's own policy forbids that frame; no script can see that the provider forbids it
   * @param onNewWindow called when the user wants the page in a window of its own
   */
  readonly frame: (url: string, onLoad: () => void, onRefused: () => void, onNewWindow: () => void) => Window;
  /** Says what is wrong, and what can be done about it. */
  readonly problem: (title: string, action: string, onAction: () => void, detail?: string) => void;
  readonly close: () => void;
}

/**
 * A native `<dialog>`: focus stays inside, Escape closes it, and focus returns to where it was. Its shadow keeps the
 * page's styles out; its style sheet is constructed, which every Content Security Policy allows.
 */
export function makeDialog(texts: Texts & { language: string }, onClose: () => void): SignInDialog {
  let dialog: HTMLDialogElement | undefined;
  let status: HTMLElement;
  let content: HTMLElement;

  const button = (className: string, textContent: string, onclick: () => void): HTMLButtonElement =>
    make('button', { className, textContent, onclick });

  const close = (): void => dialog?.close();

  const open = (): void => {
    if (dialog) return;
    const host = make('div', { lang: texts.language });
    dialog = make('dialog', { ariaLabel: texts.signIn });
    status = make('p', { role: 'status' });
    content = make('div', {});
    const closing = button('', '✕', close);
    closing.ariaLabel = texts.close;
    const head = make('div', { className: 'bar' });
    head.append(make('h2', { textContent: texts.signIn }), closing);
    dialog.append(head, status, make('progress', { ariaLabel: texts.wait }), content);
    dialog.addEventListener('close', () => {
      host.remove();
      dialog = undefined;
      onClose();
    });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    const shadow = host.attachShadow({ mode: 'open' });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(dialog);
    document.body.append(host);
    dialog.showModal();
  };

  const progress = (text: string): void => {
    open();
    status.textContent = text;
    content.replaceChildren();
  };

  return {
    progress,
    frame(url, onLoad, onRefused, onNewWindow) {
      progress(texts.wait);
      const frame = make('iframe', { title: texts.signIn, src: url, allow: 'publickey-credentials-get' });
      frame.addEventListener('load', () => {
        status.textContent = '';
        onLoad();
      });
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
        if (effectiveDirective === 'frame-src' && frame.isConnected) onRefused();
      });
      content.append(frame, button('', texts.newWindow, onNewWindow));
      return frame.contentWindow!;
    },
    problem(title, action, onAction, detail = '') {
      progress('');
      const alert = make('div', { role: 'alert' });
      const retry = button('main', action, onAction);
      alert.append(make('strong', { textContent: title }), make('p', { textContent: detail }));
      content.append(alert, retry);
      retry.focus();
    },
    close,
  };
}

function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]>,
): HTMLElementTagNameMap[Name] {
  return Object.assign(document.createElement(name), properties);
}
