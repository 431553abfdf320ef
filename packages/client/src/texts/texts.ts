/** All texts that the client shows to users. */
export interface Texts {
  /** Language of the texts, e.g. `de` (BCP 47). */
  language: string;
  signIn: string;
  /** Button of one of several providers. `{provider}` is replaced by its label. */
  continueWith: string;
  /** Label of the field for the address that chooses the provider. */
  email: string;
  /** Button below this field. */
  next: string;
  /** No provider serves the address. */
  unserved: string;
  close: string;
  /** Shown while a request runs. */
  wait: string;
  /** Shown if the provider's page loads slowly. */
  slow: string;
  newWindow: string;
  /** Shown if the page forbids the provider's frame. */
  unframed: string;
  /** Shown while the provider's page is open in another window, which may have been closed. */
  waiting: string;
  openAgain: string;
  /** Shown if the window was blocked, or needs another click. */
  blocked: string;
  /** Shown before a redirect if the browser stores nothing. */
  unstored: string;
  openWindow: string;
  thisWindow: string;
  /** Shown in the other window at the end. */
  done: string;
  retry: string;
  /** Any other failure. */
  failed: string;
  /** The service cannot be reached. */
  unavailable: string;
  /** The service or the provider has a problem. */
  trouble: string;
  /** The provider denied the sign-in. */
  denied: string;
  /** The service does not admit the account. */
  refused: string;
  /** Button for a new attempt, after `refused`. */
  otherAccount: string;
  /** Asks for a new sign-in, which an action needs. */
  stepUp: string;
  /** Another user has signed in than the one whose session continues. */
  otherUser: string;
  /** Code or state is invalid, mostly expired. */
  expired: string;
  /** Too many attempts. `{when}` is replaced by a time, e.g. `in 30 seconds`. */
  slowDown: string;
  /** The application's settings are wrong. */
  misconfigured: string;
  /** The service ended the session, mostly from another device. */
  signedOut: string;
  /** The session has ended since the user did nothing. */
  idle: string;
  /** The session has ended for another reason. */
  ended: string;
  /** The session's key is missing in this browser. */
  keyLost: string;
}

/** The texts that are needed before the dialog is loaded. */
export type FirstTexts = Pick<
  Texts,
  'language' | 'signIn' | 'continueWith' | 'done' | 'signedOut' | 'idle' | 'ended' | 'keyLost'
>;

/** The texts of the question for an e-mail address. */
export type QuestionTexts = Pick<Texts, 'email' | 'next' | 'unserved'>;

const ENGLISH: FirstTexts = {
  language: 'en',
  signIn: 'Sign in',
  continueWith: 'Continue with {provider}',
  done: 'Done. You can close this window.',
  signedOut: 'You were signed out on this device. Please sign in again.',
  idle: 'You were signed out because you were away. Please sign in again.',
  ended: 'Your session has ended. Please sign in again.',
  keyLost: 'The key of your session is missing in this browser. Please sign in again.',
};

/** Separate files: each user loads at most one. */
const LANGUAGES: Readonly<Record<string, () => Promise<{ default: Texts }>>> = {
  ar: () => import('./ar.js'),
  de: () => import('./de.js'),
  es: () => import('./es.js'),
  fr: () => import('./fr.js'),
  he: () => import('./he.js'),
  it: () => import('./it.js'),
  ja: () => import('./ja.js'),
  ko: () => import('./ko.js'),
  nl: () => import('./nl.js'),
  pl: () => import('./pl.js'),
  pt: () => import('./pt.js'),
  uk: () => import('./uk.js'),
  zh: () => import('./zh.js'),
};

/** An application that defines this for its bundler has English texts only (docs/frontend.md#languages-and-texts). */
declare const LATCHKEY_ENGLISH_ONLY: boolean | undefined;
const LOADERS: typeof LANGUAGES =
  typeof LATCHKEY_ENGLISH_ONLY !== 'undefined' && LATCHKEY_ENGLISH_ONLY ? {} : LANGUAGES;

/**
 * Returns the texts, in English until another language is loaded, and a promise of that. The dialog adds its English texts.
 * @param locale e.g. `de-AT` or `zh_Hant_TW`; English for unknown languages
 * @param own replacements of single texts
 */
export function textsFor(locale: string, own?: Partial<Texts>): [Texts, Promise<unknown> | undefined] {
  // Applications pass undefined or null for a missing translation.
  const words = Object.fromEntries(Object.entries(own ?? {}).filter(([, text]) => typeof text === 'string'));
  const texts = { ...ENGLISH, ...words } as Texts;
  const [, language = ''] = /^([a-z]{2})(?![a-z])/i.exec(locale) ?? [];
  const loading = LOADERS[language.toLowerCase()]?.().then(
    ({ default: others }) => Object.assign(texts, others, words),
    () => undefined,
  );
  return [texts, loading];
}
