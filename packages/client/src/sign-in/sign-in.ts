import { LatchkeyError, orNetworkError } from '../latchkey-error.js';
import type { SignInMode, SignInOptions } from '../options.js';
import { after } from '../service/timer.js';
import type { SignInStep } from '../session.js';
import type { Texts } from '../texts/texts.js';
import {
  awaitCallback,
  isBareError,
  MESSAGE,
  reportError,
  type RequestedSignIn,
  type CallbackQuery,
  type PendingSignIn,
  type Report,
  type SignInMemory,
} from './callback.js';
import type { SignInDialog } from './dialog.js';
import type { Providers } from './providers.js';
import type { SignInRequests } from './requests.js';

/** Seconds for which another window may send its callback: the life of a state (`STATE_TTL`). */
const STATE_LIFE = 600;

/** A promise that the callers of `start` share: of the callback. */
interface Outcome {
  readonly promise: Promise<CallbackQuery | undefined>;
  readonly settle: (error?: Error, query?: CallbackQuery) => void;
}

export type SignIn = ReturnType<typeof makeSignIn>;

/** The client flow of spec §1, with one function for each step. */
export function makeSignIn(
  defaults: SignInOptions,
  { providers, onlyProvider, knownMode, askMode, listByEmail }: Providers,
  loadRequests: () => Promise<SignInRequests>,
  { begun, arrived, line }: SignInMemory,
  texts: Texts,
  onProgress: (step: SignInStep) => void,
  report: Report,
) {
  /** Undefined while no sign-in is in progress. */
  let outcome: Outcome | undefined;
  let popup: Window | null | undefined;
  /** The window of the provider's page: the frame's, or the popup. Only this window may post the callback. */
  let shown: Window | undefined;
  let stopWaiting = (): void => undefined;
  /** Counts attempts: an answer for an earlier one is ignored. */
  let attempt = 0;
  let exchanging = false;
  /** The error that the dialog shows. */
  let failure: LatchkeyError | undefined;
  /** Options of the latest attempt. */
  let options: RequestedSignIn = defaults;
  let mode = defaults.mode;
  let dialog: SignInDialog | undefined;

  const expect = (): Outcome['promise'] => (outcome ??= makeOutcome()).promise;

  const progress = (step: SignInStep): void => {
    if (!options.link) onProgress(step);
  };

  /** The dialog is a separate file, which most pages do not need. @throws LatchkeyError `network` */
  const load = async (): Promise<SignInDialog> => {
    const { makeDialog } = await orNetworkError(import('./dialog.js'));
    return (dialog ??= makeDialog(texts, () => {
      reportError(report, begun.get()?.state, { error: 'cancelled' });
      leave();
      // An exchange is not cancelled: it could leave a session that no page knows.
      if (!exchanging) settle(failure ?? new LatchkeyError('cancelled'));
    }));
  };

  const loadAhead = (): void => {
    load().catch(() => undefined);
    loadRequests().catch(() => undefined);
  };

  /** Calls `work` with the dialog: at once if it is loaded, and never if another attempt begins before. */
  const inDialog = async (work: (dialog: SignInDialog) => void): Promise<void> => {
    const mine = attempt;
    const loaded = dialog ?? (await load());
    if (mine === attempt) work(loaded);
  };

  const settle: Outcome['settle'] = (error, query) => {
    attempt++; // also for a dialog that is being loaded
    exchanging = false;
    failure = undefined;
    const settled = outcome;
    outcome = undefined;
    settled?.settle(error, query);
    dialog?.close();
  };

  /** Removes the provider's page and the state of the attempt. */
  const leave = (): void => {
    attempt++;
    begun.put();
    stopWaiting();
    popup?.close();
    popup = shown = undefined;
  };

  /** Browsers allow this only as a direct response to a click, and not always. */
  const openPopup = (): void => void (popup = window.open('', '', 'popup,width=480,height=640'));

  /** Asks the user for a provider; not if there is only one. */
  const choose = async (): Promise<void> => {
    const requested = options;
    const mine = attempt;
    const go = (more: SignInOptions): void =>
      void begin({ ...requested, ...more, before: requested.before ?? requested });
    inDialog((open) => open.wait(false)).catch(() => undefined);
    try {
      const list = await providers();
      if (!list.length) throw new LatchkeyError('invalid_request', 'No provider is enabled.');
      if (mine !== attempt) return;
      if (onlyProvider()) return go({ provider: onlyProvider() });
      const choice = await (await loadChoice()).makeChoice(list, listByEmail, requested.email, texts, go);
      if (mine !== attempt) return;
      if (typeof choice === 'string') go({ provider: choice });
      else await inDialog((open) => open.choose(choice));
    } catch (error) {
      if (mine === attempt) fail(error as LatchkeyError);
    }
  };

  /** Steps 1 and 2: asks for the provider's page, and shows it. */
  const begin = async (requested: RequestedSignIn): Promise<void> => {
    leave();
    failure = undefined;
    const { provider = onlyProvider(), mode: wanted = knownMode(provider) } = requested;
    options = { ...requested, provider };
    mode = wanted; // also for a retry
    if (!provider) return choose();
    if (wanted === 'popup') openPopup(); // before anything is awaited
    const mine = attempt;
    const waiting = inDialog((open) => open.wait(!wanted || wanted === 'iframe'));
    waiting.catch(() => undefined);
    progress('authorize');
    try {
      const [{ url, sent }, how] = await Promise.all([
        loadRequests().then(({ authorize }) => authorize(options)),
        wanted ?? askMode(provider),
        wanted === 'redirect' || waiting, // a redirect needs no dialog
      ]);
      if (mine === attempt) show(how, url, sent);
    } catch (error) {
      if (mine === attempt) fail(error as LatchkeyError);
    }
  };

  /** Shows the provider's page, or asks for the click that this needs. */
  const show = (how: SignInMode, url: string, sent: Omit<PendingSignIn, 'mode'>): void => {
    mode = how;
    const isStored = begun.put({ ...sent, mode });
    progress('provider');
    const inWindow = (): void => {
      leave();
      openPopup();
      show('popup', url, sent);
    };
    const here = (): void => {
      const mine = attempt;
      // The browser's Back button may restore this page as it was left: its sign-in cannot continue.
      const back = ({ persisted }: PageTransitionEvent): void => {
        if (persisted && mine === attempt) settle(new LatchkeyError('cancelled'));
      };
      addEventListener('pageshow', back, { once: true });
      location.assign(url);
    };
    // A page in a frame is left only after a click: most providers forbid framing, and their error page has no way back.
    if (mode === 'redirect' && isStored && parent === window) return here();
    if (mode === 'iframe') {
      return void inDialog((open) => {
        const refused = (): void => open.say('alert', texts.unframed, [texts.newWindow, inWindow]);
        shown = open.frame(url, inWindow, refused);
        open.watch(shown, url, sent.redirectUri);
      }).catch(fail); // the address may be invalid
    }
    if (!popup || popup.closed) {
      // A browser that stores nothing loses the state with the page, which must not be left then.
      const actions = isStored ? [[texts.thisWindow, here] as const] : [];
      const why = mode === 'redirect' && !isStored ? 'unstored' : 'blocked';
      return void inDialog((open) => open.say('alert', texts[why], [texts.openWindow, inWindow], ...actions));
    }
    shown = popup;
    shown.location.replace(url);
    const stopListening = awaitCallback(line, sent.state, (query) => void finish(query));
    const stopTimer = after(STATE_LIFE, () => fail(new LatchkeyError('invalid_state')));
    stopWaiting = () => (stopListening(), stopTimer());
    // Whether the popup was closed is unknown: `closed` is also true after `Cross-Origin-Opener-Policy`.
    void inDialog((open) => {
      open.say('status', texts.waiting, [texts.openAgain, inWindow]);
      if (shown) open.watch(shown, url, sent.redirectUri);
    });
  };

  /** Steps 3 to 5: compares the state, exchanges the code, stores the tokens. */
  const finish = async (query: CallbackQuery): Promise<void> => {
    const sent = begun.get();
    leave();
    progress('callback');
    try {
      if (!sent || (query.state !== sent.state && !isBareError(query)))
        throw new LatchkeyError('invalid_state');
      if (!query.code) {
        reportError(report, sent.state, query);
        throw new LatchkeyError(query.error ?? 'unexpected_answer', query.error_description);
      }
      inDialog((open) => open.wait(mode === 'iframe')).catch(() => undefined); // the exchange needs no dialog
      progress('exchange');
      exchanging = true;
      await (await loadRequests()).exchange(query, sent);
      progress('signed-in');
      settle(undefined, query);
    } catch (error) {
      fail(error as LatchkeyError);
    }
  };

  /** Spec §1: shows the error and a retry in the dialog. Without a dialog, `signIn()` rejects. */
  const fail = (problem: LatchkeyError): void => {
    leave();
    exchanging = false;
    if (options.link) return settle(problem); // the application shows it
    failure = problem;
    progress('failed');
    console.warn(`Latchkey: signing in failed, see docs/errors.md: ${problem.code} (${problem.message})`);
    const again = (other?: SignInOptions): void =>
      void begin({ ...((other && options.before) ?? { ...options, mode }), ...other });
    inDialog((open) => open.fail(problem, again)).catch(() => settle(problem));
  };

  /**
   * Opens the dialog, or joins the sign-in in progress.
   * @param isRequested whether the dialog asks for a click first: browsers open windows only then
   * @returns the provider's answer
   */
  const start = (requested: RequestedSignIn, isRequested?: boolean): Outcome['promise'] => {
    const { provider = defaults.provider, mode: wanted = defaults.mode } = requested;
    const enter = (): void => void begin({ ...requested, provider, mode: wanted });
    if (!outcome) {
      if (isRequested) {
        providers().catch(() => undefined); // the click then knows the mode
        inDialog((open) => open.say('status', texts.stepUp, [texts.signIn, enter])).catch(settle);
      } else enter();
    }
    return expect();
  };

  return {
    start,
    /** Asks for a new login (spec §1). @param message why, for the user */
    ask: (message: string): void => {
      if (outcome) return;
      const again = (): void => void start(defaults);
      inDialog((open) => open.say('alert', message, [texts.signIn, again])).catch(() => undefined);
    },
    /** Loads the dialog. */
    load: loadAhead,
    /** Without a session: loads what a click will need. */
    prepare: (): void => {
      loadAhead();
      if (!(defaults.mode && defaults.provider) && !outcome) providers().catch(() => undefined);
    },
    /** With a session: closes a dialog that asks for a login. */
    done: (): void => {
      if (outcome) return;
      attempt++; // also for a dialog that is being loaded
      dialog?.close();
    },
    /** Finishes a sign-in after a redirect, if there was one. @returns the provider's answer, if it is for another account */
    resume: (): Outcome['promise'] | undefined => {
      const query = arrived.get();
      if (!query) return undefined;
      arrived.put();
      mode = 'redirect';
      options = begun.get()?.options ?? defaults;
      const answer = expect();
      queueMicrotask(() => void finish(query)); // the application adds its listeners first
      return options.link && answer;
    },
    /** Handles the window's messages: only of the provider's window, and a callback only of this origin. */
    onMessage: ({ origin, source, data }: MessageEvent): void => {
      if (!shown || source !== shown) return;
      const message = (data ?? {}) as { type?: unknown; query?: CallbackQuery; height?: unknown };
      if (message.type === MESSAGE && origin === location.origin) void finish(message.query ?? {});
      if (mode !== 'iframe') return;
      if (message.type === 'latchkey:escape') dialog?.close();
      if (message.type === 'latchkey:height') dialog?.resize(message.height);
    },
    /** Shows a text without any action. */
    showText: (text: string) => void inDialog((open) => open.say('status', text)).catch(() => undefined),
  };
}

/** Only applications with several providers need it. @throws LatchkeyError `network` */
export function loadChoice(): Promise<typeof import('./choice.js')> {
  return orNetworkError(import('./choice.js'));
}

function makeOutcome(): Outcome {
  let settle!: Outcome['settle'];
  const promise: Outcome['promise'] = new Promise((resolve, reject) => {
    settle = (error, query) => (error ? reject(error) : resolve(query));
  });
  promise.catch(() => undefined); // the dialog shows the error
  return { promise, settle };
}
