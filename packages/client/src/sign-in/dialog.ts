import type { LatchkeyError } from '../latchkey-error.js';
import type { SignInOptions } from '../options.js';
import english from '../texts/en.js';
import type { Texts } from '../texts/texts.js';
import { STYLE } from './dialog-style.js';

/** Milliseconds of loading after which the dialog suggests a new window. */
const SLOW = 4000;
/** Bounds of the height that a provider's page may ask for; CSS pixels. */
const [MIN_HEIGHT, MAX_HEIGHT] = [160, 1600];
/** Seconds to wait without `Retry-After`: limits are per minute (`RATE_LIMIT`). */
const A_MINUTE = 60;
const RIGHT_TO_LEFT = /^(ar|he)\b/;
/** Hosts of a page in development. */
const LOOPBACK = /^((.+\.)?localhost|127[.\d]+|\[::1])$/;

const OTHER_ACCOUNT: SignInOptions = { prompt: 'select_account', email: undefined, loginHint: undefined };

/** A button. */
type Action = readonly [label: string, onClick: () => void];

export type SignInDialog = ReturnType<typeof makeDialog>;

/**
 * The login dialog (spec §1), a native `<dialog>`: it keeps the focus, closes on Escape and restores the focus. A shadow root keeps the page's styles out; every
 * Content Security Policy allows its constructed style sheet.
 */
export function makeDialog(texts: Texts, onClose: () => void) {
  Object.assign(texts, { ...english, ...texts }); // English until another language is loaded
  let dialog: HTMLDialogElement | undefined;
  let title: HTMLElement;
  let status: HTMLElement;
  let content: HTMLElement;
  let closing: HTMLElement;
  let box: HTMLElement;
  /** Height that the provider's page asked for; empty: that of the style sheet. */
  let height = '';
  /** Removes the timers and listeners of the content. */
  let leave = (): void => undefined;

  /** Runs at once: when the event `close` comes, there may be another sign-in. */
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
    dialog = make('dialog', { tabIndex: -1 });
    dialog.part.add('dialog'); // a page may place it by `::part(dialog)`
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
    dialog.autofocus = true; // only now: before the insertion, Chromium logs an error in a frame of another site
    dialog.showModal();
  };

  /** Shows a state of the dialog. */
  const show = (state: string, heading: string, message: string, ...children: readonly Node[]): void => {
    leave();
    if (!dialog) open();
    dialog!.className = state;
    dialog!.lang = texts.language;
    // `auto` for other languages of the application.
    dialog!.dir = RIGHT_TO_LEFT.test(texts.language) ? 'rtl' : 'auto';
    dialog!.ariaLabel = texts.signIn;
    closing.ariaLabel = texts.close;
    title.textContent = heading;
    status.textContent = message;
    content.replaceChildren(...children);
    dialog!.focus();
  };

  /** Makes a placeholder for the provider's page, with the outline of a form. */
  const makeBox = (className: string): HTMLElement => {
    box = make('div', { className });
    const outline = make('i', { ariaHidden: 'true' });
    box.append(outline);
    return outline;
  };

  /** Shows a text and buttons; the first action is the default. @param role `alert` for a problem */
  const say = (role: 'alert' | 'status', text: string, ...actions: readonly Action[]): void => {
    const buttons = actions.map(button);
    const alert = make('p', { role: 'alert', textContent: text });
    if (role === 'alert') show('', texts.signIn, '', alert, ...buttons);
    else show('', texts.signIn, text, ...buttons);
    if (!buttons[0]) return;
    buttons[0].className = 'main';
    buttons[0].focus();
  };

  return {
    /** Shows progress. @param framed before or after a frame: the dialog keeps its height */
    wait(framed: boolean): void {
      makeBox(framed ? 'box' : 'box low');
      if (framed) box.style.height = height;
      show('wait', texts.signIn, texts.wait, box);
    },
    /**
     * Shows the provider's page in a frame. No script can detect whether the provider forbids framing, so there is always a button
     * for a window.
     * @param onRefused called if this page's Content Security Policy forbids the frame
     */
    frame(url: string, onNewWindow: () => void, onRefused: () => void): Window {
      const { host, origin } = new URL(url);
      // `*`: the provider may redirect to another origin. `storage-access` is allowed by default.
      const allow = 'publickey-credentials-get *; publickey-credentials-create *';
      const frame = make('iframe', { title: texts.signIn, src: url, allow });
      const outline = makeBox('box');
      const hint = make('p', { role: 'status' });
      const foot = make('footer', {});
      foot.append(hint, button([texts.newWindow, onNewWindow]));
      box.append(frame);
      // The title is the provider's host, since a frame has no address bar.
      show('frame', host, '', box, foot);
      const listening = new AbortController();
      const timer = setTimeout(() => (hint.textContent = texts.slow), SLOW);
      const cancel = (): void => clearTimeout(timer);
      leave = () => (cancel(), listening.abort());
      frame.addEventListener('load', () => {
        cancel();
        hint.textContent = '';
        if (outline.isConnected) frame.focus();
        else title.textContent = texts.signIn; // another page: no script can read its host
        outline.remove();
      });
      document.addEventListener(
        'securitypolicyviolation',
        ({ disposition, effectiveDirective, blockedURI }) => {
          if (disposition !== 'enforce') return; // report-only
          if (effectiveDirective === 'frame-src' && blockedURI.startsWith(origin)) onRefused();
        },
        listening,
      );
      return frame.contentWindow!;
    },
    /** Sets the height of the frame. @param wanted CSS pixels, from the provider's page: may be anything */
    resize(wanted: unknown): void {
      const pixels = Math.min(Math.max(Number(wanted), MIN_HEIGHT), MAX_HEIGHT);
      if (!pixels) return; // NaN
      height = `${pixels}px`;
      box.style.height = height;
    },
    say,
    /** On a loopback host: warns if the callback page does not call `handleCallback()`. @param view of the provider's page at `url` */
    watch(view: Window, url: string, redirectUri: string): void {
      if (!LOOPBACK.test(location.hostname)) return;
      import('./callback-watch.js').then(
        ({ watchCallback }) => watchCallback(view, url, redirectUri),
        () => undefined,
      );
    },
    /** Shows what leads to a provider: buttons, or a question with a field. */
    choose(choice: HTMLElement): void {
      show('', texts.signIn, '', choice);
      (choice.querySelector('input') ?? choice).focus();
    },
    /** Explains a failure, and offers a retry, or another account. On a loopback host it shows the details, too. */
    fail(error: LatchkeyError, onRetry: (other?: SignInOptions) => void): void {
      const sentence = explain(error, texts);
      const isRefused = sentence === texts.refused;
      say('alert', sentence, [
        isRefused ? texts.otherAccount : texts.retry,
        () => onRetry(isRefused ? OTHER_ACCOUNT : undefined),
      ]);
      if (!LOOPBACK.test(location.hostname)) return;
      const details = make('small', { textContent: detailsOf(error), lang: 'en' });
      details.part.add('details');
      content.firstChild!.after(details);
    },
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

/** Explains a failed sign-in to the user: a sentence without codes, in the user's language. */
function explain({ code, status = 0, retryAfter = A_MINUTE }: LatchkeyError, texts: Texts): string {
  if (code === 'network') return texts.unavailable;
  if (status === 429) return texts.slowDown.replace('{when}', fromNow(retryAfter, texts.language));
  if (status >= 500 || /^(server_error|temporarily_unavailable)$/.test(code)) return texts.trouble;
  // Without a status it is the provider's, of its callback.
  if (code === 'access_denied') return status ? texts.refused : texts.denied;
  if (code === 'other_user') return texts.otherUser;
  if (/^invalid_(grant|state)$/.test(code)) return texts.expired;
  if (/^(insecure_context|(invalid|unauthorized)_(client|request))$/.test(code)) return texts.misconfigured;
  return texts.failed;
}

/** Formats a time from now, e.g. `in 30 seconds`. */
function fromNow(seconds: number, language: string): string {
  const [count, unit] = seconds < 100 ? ([seconds, 'second'] as const) : ([seconds / 60, 'minute'] as const);
  return formatOf(language).format(Math.ceil(count), unit);
}

/** Describes an error to the developer: code, sentence, what the browser has thrown, HTTP status. */
function detailsOf({ code, message, cause, status }: LatchkeyError): string {
  return [code, message, cause && String(cause as Error), status && `HTTP ${status}`]
    .filter(Boolean)
    .join(' · ');
}

/** @param language may be the application's, and so invalid, such as `pt_BR` */
function formatOf(language: string): Intl.RelativeTimeFormat {
  try {
    return new Intl.RelativeTimeFormat(language);
  } catch {
    return new Intl.RelativeTimeFormat();
  }
}
