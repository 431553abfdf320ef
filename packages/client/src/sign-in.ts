import { authorize } from './authorize.js';
import { MESSAGE, type Begun, type CallbackQuery, type SignInMemory } from './callback.js';
import { makeDialog } from './dialog.js';
import type { Exchange } from './exchange.js';
import { LatchkeyError } from './latchkey-error.js';
import type { SignInMode } from './options.js';
import { makeOutcome } from './outcome.js';
import { makePopup } from './popup.js';
import type { Call } from './service.js';
import type { SignInStep } from './session.js';
import type { Texts } from './texts.js';
import { after } from './timer.js';

/** Seconds. */
const LONGEST_LOAD = 15;

export interface SignInSettings {
  readonly provider: string;
  readonly redirectUri: string;
  readonly mode: SignInMode;
}

export interface SignIn {
  /** Opens the dialog, or joins the sign-in that is already going on. */
  readonly start: (mode?: SignInMode) => Promise<void>;
  /** Asks for a new login (spec §1), and says why. */
  readonly ask: (message: string) => void;
  /** Somebody is signed in: a dialog that asks for a login closes. */
  readonly done: () => void;
  /** Goes on with a sign-in after a redirect, where there was one. */
  readonly resume: () => void;
  /** For the window's `message` events. */
  readonly hear: (event: MessageEvent) => void;
}

/** The client flow of spec §1, with one function for each step. */
export function makeSignIn(
  settings: SignInSettings,
  call: Call,
  exchange: Exchange,
  { begun, arrived }: SignInMemory,
  texts: Texts & { language: string },
  progress: (step: SignInStep) => void,
): SignIn {
  const outcome = makeOutcome();
  /** The window that shows the provider's page: the frame's, or the popup. Only it may post the callback. */
  let shown: Window | undefined;
  const popup = makePopup();
  let stopWatching = (): void => undefined;
  /** Counts attempts: an answer for an earlier one is ignored. */
  let attempt = 0;
  let exchanging = false;
  let mode = settings.mode;

  const dialog = makeDialog(texts, () => {
    leave();
    // An exchange under way is not cancelled: it could leave behind a session that nobody knows.
    if (!exchanging) settle(new LatchkeyError('cancelled'));
  });

  const settle = (error?: Error): void => {
    exchanging = false;
    outcome.settle(error);
    dialog.close();
  };

  /** Takes the provider's page away. */
  const leave = (): void => {
    attempt++;
    stopWatching();
    popup.close();
    shown = undefined;
  };

  /** Steps 1 and 2: ask where to go, and go there. */
  const begin = async (wanted: SignInMode): Promise<void> => {
    leave();
    mode = wanted;
    // Before anything is awaited: browsers open windows only as a direct response to a click.
    if (mode === 'popup') popup.open();
    const mine = attempt;
    dialog.progress(texts.wait);
    progress('authorize');
    try {
      const { url, sent } = await authorize(call, settings.provider, settings.redirectUri);
      if (mine === attempt) show(url, { ...sent, mode });
    } catch (error) {
      if (mine === attempt) fail(error as Error);
    }
  };

  /** Shows the provider's page in the wanted way, or in the next one where that is not possible. */
  const show = (url: string, sent: Begun): void => {
    if (mode === 'popup' && !popup.isOpen()) mode = 'redirect';
    begun.put({ ...sent, mode });
    progress('provider');
    if (mode === 'redirect') return location.assign(url);
    if (mode === 'popup') {
      shown = popup.show(url, () => fail(new LatchkeyError('cancelled')));
      return dialog.progress(texts.waiting);
    }
    const inPopup = (): void => {
      leave();
      mode = 'popup';
      popup.open();
      show(url, sent);
    };
    const refused = (): void => dialog.problem(texts.unavailable, texts.newWindow, inPopup);
    stopWatching = after(LONGEST_LOAD, refused);
    shown = dialog.frame(url, () => stopWatching(), refused, inPopup);
  };

  /** Steps 3 to 5: compare the state, exchange the code, keep the tokens. */
  const finish = async (query: CallbackQuery): Promise<void> => {
    leave();
    progress('callback');
    const sent = begun.get();
    begun.put(); // valid for one attempt
    try {
      if (!sent || query.state !== sent.state) throw new LatchkeyError('invalid_state');
      if (!query.code) throw new LatchkeyError(query.error ?? 'unexpected_answer', query.error_description);
      dialog.progress(texts.wait);
      progress('exchange');
      exchanging = true;
      await exchange(query, sent);
      progress('signed-in');
      settle();
    } catch (problem) {
      fail(problem as Error);
    }
  };

  /** Spec §1: the dialog shows the error, and allows a retry. */
  const fail = (error: Error): void => {
    leave();
    exchanging = false;
    progress('failed');
    const { code, status = 0, message } = error as Partial<LatchkeyError>;
    const isAway = code === 'network' || status === 429 || status >= 500;
    dialog.problem(isAway ? texts.unavailable : texts.failed, texts.retry, () => void begin(mode), message);
  };

  return {
    start(wanted = settings.mode) {
      if (!outcome.isOpen()) void begin(wanted);
      return outcome.expect();
    },
    ask(message) {
      if (outcome.isOpen()) return;
      dialog.problem(message, texts.signIn, () => {
        void outcome.expect();
        void begin(settings.mode);
      });
    },
    done: () => outcome.isOpen() || dialog.close(),
    resume() {
      const query = arrived.get();
      if (!query) return;
      arrived.put();
      mode = 'redirect';
      void outcome.expect();
      queueMicrotask(() => void finish(query)); // later, so that the application can listen first
    },
    // Any page may post messages: only those of our callback, in the window that we opened, count.
    hear({ origin, source, data }) {
      const message = data as { type?: unknown; query: CallbackQuery } | null;
      if (!shown || source !== shown || origin !== location.origin || message?.type !== MESSAGE) return;
      void finish(message.query);
    },
  };
}
