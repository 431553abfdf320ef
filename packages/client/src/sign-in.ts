import { authorize } from './authorize.js';
import { isBareError, MESSAGE, type Begun, type SignInMemory } from './callback.js';
import type { SignInDialog } from './dialog.js';
import type { Exchange } from './exchange.js';
import { awaitCallback, type CallbackQuery } from './handover.js';
import { LatchkeyError } from './latchkey-error.js';
import { makeModes } from './modes.js';
import type { ClientOptions, SignInMode } from './options.js';
import { makeOutcome } from './outcome.js';
import { makePopup } from './popup.js';
import type { Call } from './service.js';
import type { SignInStep } from './session.js';
import type { Texts } from './texts.js';
import { after } from './timer.js';

/** Seconds for which another window may send its callback: as long as a state lives (contract §2 `STATE_TTL`). */
const STATE_LIFE = 600;

export interface SignIn {
  /** Opens the dialog, or joins the sign-in that is already going on. */
  readonly start: (mode?: SignInMode) => Promise<void>;
  /** Asks for a new login (spec §1), and says why. */
  readonly ask: (message: string) => void;
  /** Loads the dialog. */
  readonly load: () => void;
  /** Nobody is signed in: loads what a click will need. */
  readonly prepare: () => void;
  /** Somebody is signed in: a dialog that asks for a login closes. */
  readonly done: () => void;
  /** Goes on with a sign-in after a redirect, where there was one. */
  readonly resume: () => void;
  /** For the window's `message` events. */
  readonly hear: (event: MessageEvent) => void;
  /** Shows a text, with nothing to do. */
  readonly tell: (text: string) => void;
}

/** The client flow of spec §1, with one function for each step. */
export function makeSignIn(
  settings: Pick<ClientOptions, 'provider' | 'redirectUri' | 'mode'>,
  call: Call,
  exchange: Exchange,
  { begun, arrived, line }: SignInMemory,
  texts: Texts,
  progress: (step: SignInStep) => void,
): SignIn {
  const outcome = makeOutcome();
  const modes = makeModes(call, settings.provider);
  const popup = makePopup();
  /** The window that shows the provider's page: the frame's, or the popup. Only it may post the callback. */
  let shown: Window | undefined;
  let stopWaiting = (): void => undefined;
  /** Counts attempts: an answer for an earlier one is ignored. */
  let attempt = 0;
  let exchanging = false;
  /** What the dialog shows at the moment. */
  let failure: LatchkeyError | undefined;
  let mode = settings.mode;

  /** Loaded ahead, so that it is there at the click. */
  let dialog: SignInDialog | undefined;

  /** A file of its own: most pages are loaded by somebody who is signed in. @throws LatchkeyError `network` */
  const load = async (): Promise<SignInDialog> => {
    const { makeDialog } = await import('./dialog.js').catch(() => {
      throw new LatchkeyError('network');
    });
    return (dialog ??= makeDialog(texts, () => {
      leave();
      // An exchange under way is not cancelled: it could leave behind a session that nobody knows.
      if (!exchanging) settle(failure ?? new LatchkeyError('cancelled'));
    }));
  };

  const loadAhead = (): void => void load().catch(() => undefined);

  /** Does something in the dialog: at once where that is loaded, and not at all where something else happens before. */
  const inDialog = async (work: (dialog: SignInDialog) => void): Promise<void> => {
    const mine = attempt;
    const loaded = dialog ?? (await load());
    if (mine === attempt) work(loaded);
  };

  const settle = (error?: Error): void => {
    attempt++; // also for a dialog that is still being loaded
    exchanging = false;
    failure = undefined;
    outcome.settle(error);
    dialog?.close();
  };

  /** Takes the provider's page away, and forgets what it was asked. */
  const leave = (): void => {
    attempt++;
    begun.put();
    stopWaiting();
    popup.close();
    shown = undefined;
  };

  /** Steps 1 and 2: ask where to go, and go there. @param wanted undefined: as the service says */
  const begin = async (wanted = modes.known()): Promise<void> => {
    leave();
    failure = undefined;
    // Before anything is awaited: browsers open windows only as a direct response to a click.
    if (wanted === 'popup') popup.open();
    mode = wanted; // also for another attempt, if this one does not get to the provider
    const mine = attempt;
    const waiting = inDialog((open) => open.wait(!wanted || wanted === 'iframe'));
    waiting.catch(() => undefined);
    progress('authorize');
    try {
      const [{ url, sent }, how] = await Promise.all([
        authorize(call, settings.provider, settings.redirectUri),
        wanted ?? modes.ask(),
        wanted === 'redirect' || waiting, // which needs no dialog
      ]);
      if (mine === attempt) show(how, url, sent);
    } catch (error) {
      if (mine === attempt) fail(error as LatchkeyError);
    }
  };

  /** Shows the provider's page; says so where that needs another click. */
  const show = (how: SignInMode, url: string, sent: Omit<Begun, 'mode'>): void => {
    mode = how;
    const isStored = begun.put({ ...sent, mode });
    progress('provider');
    const inWindow = (): void => {
      leave();
      popup.open();
      show('popup', url, sent);
    };
    const here = (): void => {
      const mine = attempt;
      // Whoever comes back by the browser's button may find the page as it was left: nothing goes on in it.
      const back = ({ persisted }: PageTransitionEvent): void => {
        if (persisted && mine === attempt) settle(new LatchkeyError('cancelled'));
      };
      addEventListener('pageshow', back, { once: true });
      location.assign(url);
    };
    // A page in a frame is left only by a click: most providers refuse to be framed, and their error page has no way back.
    if (mode === 'redirect' && isStored && parent === window) return here();
    if (mode === 'iframe') {
      return void inDialog((open) => {
        const refused = (): void => open.say('alert', texts.unframed, [texts.newWindow, inWindow]);
        shown = open.frame(url, inWindow, refused);
      }).catch(fail); // an address that is none
    }
    shown = popup.show(url);
    if (!shown) {
      // If the browser stores nothing, the state is lost with the page, which must not be left then.
      const ways = isStored ? [[texts.thisWindow, here] as const] : [];
      return void inDialog((open) => open.say('alert', texts.blocked, [texts.openWindow, inWindow], ...ways));
    }
    const stopListening = awaitCallback(line, sent.state, (query) => void finish(query));
    const stopTimer = after(STATE_LIFE, () => fail(new LatchkeyError('invalid_state')));
    stopWaiting = () => (stopListening(), stopTimer());
    void inDialog((open) => open.say('status', texts.waiting, [texts.openAgain, inWindow]));
  };

  /** Steps 3 to 5: compare the state, exchange the code, keep the tokens. */
  const finish = async (query: CallbackQuery): Promise<void> => {
    const sent = begun.get();
    leave();
    progress('callback');
    try {
      if (!sent || (query.state !== sent.state && !isBareError(query)))
        throw new LatchkeyError('invalid_state');
      if (!query.code) throw new LatchkeyError(query.error ?? 'unexpected_answer', query.error_description);
      inDialog((open) => open.wait(mode === 'iframe')).catch(() => undefined); // the exchange goes on without it
      progress('exchange');
      exchanging = true;
      await exchange(query, sent);
      progress('signed-in');
      settle();
    } catch (problem) {
      fail(problem as LatchkeyError);
    }
  };

  /** Spec §1: the dialog shows the error, and allows a retry. Where there is no dialog, `signIn()` rejects with the error. */
  const fail = (problem: LatchkeyError): void => {
    leave();
    exchanging = false;
    failure = problem;
    progress('failed');
    console.warn('Latchkey: signing in failed.', problem.code, problem.message);
    inDialog((open) => open.fail(problem, () => void begin(mode))).catch(() => settle(problem));
  };

  return {
    start(wanted = settings.mode) {
      if (!outcome.isOpen()) void begin(wanted);
      return outcome.expect();
    },
    ask(message) {
      if (outcome.isOpen()) return;
      const again = (): void => {
        void outcome.expect();
        void begin(settings.mode);
      };
      inDialog((open) => open.say('alert', message, [texts.signIn, again])).catch(() => undefined);
    },
    load: loadAhead,
    prepare() {
      loadAhead();
      if (!settings.mode && !outcome.isOpen()) void modes.ask();
    },
    done() {
      if (outcome.isOpen()) return;
      attempt++; // also for a dialog that is still being loaded
      dialog?.close();
    },
    resume() {
      const query = arrived.get();
      if (!query) return;
      arrived.put();
      mode = 'redirect';
      void outcome.expect();
      queueMicrotask(() => void finish(query)); // later, so that the application can listen first
    },
    // Any page may post messages: only those of the window that we opened count, and of callbacks only our own page's.
    hear({ origin, source, data }) {
      if (!shown || source !== shown) return;
      const message = (data ?? {}) as { type?: unknown; query?: CallbackQuery; height?: unknown };
      if (message.type === MESSAGE && origin === location.origin) void finish(message.query ?? {});
      if (mode !== 'iframe') return;
      if (message.type === 'latchkey:escape') dialog?.close();
      if (message.type === 'latchkey:height') dialog?.resize(message.height);
    },
    tell: (text) => void inDialog((open) => open.say('status', text)).catch(() => undefined),
  };
}
