import { MESSAGE, type Begun, type CallbackQuery, type SignInMemory } from './callback.js';
import { deviceId } from './device.js';
import { makeDialog } from './dialog.js';
import { LatchkeyError } from './latchkey-error.js';
import type { SignInMode } from './options.js';
import { makePkce } from './pkce.js';
import type { Call } from './service.js';
import type { SignInStep } from './session.js';
import type { Texts } from './texts.js';
import { after } from './timer.js';
import type { TokenKeeper, Tokens } from './tokens.js';

/** Seconds. */
const LONGEST_LOAD = 15;
const LOOK_EVERY = 0.5;

export interface SignInSettings {
  readonly provider: string;
  readonly redirectUri: string;
  readonly mode: SignInMode;
  readonly deviceName: string;
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
  keeper: TokenKeeper,
  { begun, arrived }: SignInMemory,
  texts: Texts & { language: string },
  progress: (step: SignInStep) => void,
): SignIn {
  let outcome: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } | undefined;
  /** The window that shows the provider's page: the frame's, or the popup. Only it may post the callback. */
  let shown: Window | undefined;
  let popup: Window | null | undefined;
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

  /** The outcome of the sign-in that is going on, or of a new one. */
  const expectOutcome = (): Promise<void> => {
    if (!outcome) {
      let both!: [() => void, (error: Error) => void];
      const promise = new Promise<void>((...given) => (both = given));
      promise.catch(() => undefined); // the dialog shows it to the user
      outcome = { promise, resolve: both[0], reject: both[1] };
    }
    return outcome.promise;
  };

  const settle = (error?: Error): void => {
    const settled = outcome;
    outcome = undefined;
    exchanging = false;
    dialog.close();
    if (error) settled?.reject(error);
    else settled?.resolve();
  };

  /** Takes the provider's page away. */
  const leave = (): void => {
    attempt++;
    stopWatching();
    popup?.close();
    popup = shown = undefined;
  };

  const openPopup = (): Window | null => window.open('', '', 'popup,width=480,height=640');

  /** Steps 1 and 2: ask where to go, and go there. */
  const begin = async (wanted: SignInMode): Promise<void> => {
    leave();
    mode = wanted;
    // Before anything is awaited: browsers open windows only as a direct response to a click.
    if (mode === 'popup') popup = openPopup();
    const mine = attempt;
    dialog.progress(texts.wait);
    progress('authorize');
    try {
      const redirectUri = new URL(settings.redirectUri, document.baseURI).href;
      const { verifier, challenge } = await makePkce();
      const query = new URLSearchParams({
        provider: settings.provider,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      const { redirect_url: url, state } = await call<{ redirect_url: string; state: string }>(
        'GET',
        `/oauth2/authorize?${query.toString()}`,
      );
      if (!/^https?:/.test(url) || !state) throw new LatchkeyError('unexpected_answer');
      if (mine === attempt) show(url, { state, verifier, redirectUri, mode, returnTo: location.href });
    } catch (error) {
      if (mine === attempt) fail(error as Error);
    }
  };

  /** Shows the provider's page in the wanted way, or in the next one where that is not possible. */
  const show = (url: string, sent: Begun): void => {
    if (mode === 'popup' && !popup) mode = 'redirect';
    begun.put({ ...sent, mode });
    progress('provider');
    if (mode === 'redirect') return location.assign(url);
    if (popup) {
      shown = popup;
      popup.location.replace(url);
      dialog.progress(texts.waiting);
      return watch(popup, 0);
    }
    const inPopup = (): void => {
      leave();
      mode = 'popup';
      popup = openPopup();
      show(url, sent);
    };
    const refused = (): void => dialog.problem(texts.unavailable, texts.newWindow, inPopup);
    stopWatching = after(LONGEST_LOAD, refused);
    shown = dialog.frame(url, () => stopWatching(), refused, inPopup);
  };

  /** Polls the popup: when it is closed, no event is sent. */
  const watch = (watched: Window, rounds: number): void => {
    // One more round: before it closed itself, the callback page may have posted a message that is still on its way.
    if (rounds > 1) return fail(new LatchkeyError('cancelled'));
    stopWatching = after(LOOK_EVERY, () => watch(watched, watched.closed ? rounds + 1 : 0));
  };

  /** Steps 3 to 5: compare the state, exchange the code, keep the tokens. */
  const finish = async ({ code, state, iss, error, error_description }: CallbackQuery): Promise<void> => {
    leave();
    progress('callback');
    const sent = begun.get();
    begun.put(); // valid for one attempt
    try {
      if (!sent || state !== sent.state) throw new LatchkeyError('invalid_state');
      if (!code) throw new LatchkeyError(error ?? 'unexpected_answer', error_description);
      dialog.progress(texts.wait);
      progress('exchange');
      exchanging = true;
      const device_id = deviceId();
      const tokens = await call<Tokens>('POST', '/oauth2/token', {
        code,
        state,
        iss,
        device_id,
        redirect_uri: sent.redirectUri,
        code_verifier: sent.verifier,
        device_name: settings.deviceName,
      });
      keeper.put({ ...tokens, device_id, signed_in_at: Date.now() });
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
      if (!outcome) void begin(wanted);
      return expectOutcome();
    },
    ask(message) {
      if (outcome) return;
      dialog.problem(message, texts.signIn, () => {
        void expectOutcome();
        void begin(settings.mode);
      });
    },
    done: () => outcome || dialog.close(),
    resume() {
      const query = arrived.get();
      if (!query) return;
      arrived.put();
      mode = 'redirect';
      void expectOutcome();
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
