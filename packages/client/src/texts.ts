/** Everything that the client says to users. */
export interface Texts {
  /** The language that they are in, e.g. `de` (BCP 47). */
  language: string;
  signIn: string;
  close: string;
  /** While something is going on. */
  wait: string;
  /** The provider's page has not loaded for some seconds. */
  slow: string;
  newWindow: string;
  /** The provider's page may not be shown inside of this one. */
  unframed: string;
  /** While the provider's page is open in another window, or that window was closed: nobody can tell. */
  waiting: string;
  openAgain: string;
  /** There is no other window: it was blocked, or needs another click. */
  blocked: string;
  openWindow: string;
  thisWindow: string;
  /** In the other window, when nothing is left to do there. */
  done: string;
  retry: string;
  /** A failure without a sentence of its own. */
  failed: string;
  /** No answer from the service. */
  unavailable: string;
  /** The service, or the provider, answers that it is in trouble. */
  trouble: string;
  /** The user, or somebody for the user, said no at the provider. */
  denied: string;
  /** The code or the state is not valid, mostly because it has expired. */
  expired: string;
  /** Too many attempts. `{when}` becomes a time from now, such as `in 30 seconds`. */
  slowDown: string;
  /** The application is not set up for this. */
  misconfigured: string;
  /** The session was ended by the service, mostly from another device. */
  signedOut: string;
  /** The session is over. */
  ended: string;
  /** The key of the session is not in this browser. */
  keyLost: string;
}

/** What may be said while the dialog is not loaded. */
export type FirstTexts = Pick<Texts, 'language' | 'done' | 'signedOut' | 'ended' | 'keyLost'>;

const ENGLISH: FirstTexts = {
  language: 'en',
  done: 'Done. You can close this window.',
  signedOut: 'You were signed out on this device. Please sign in again.',
  ended: 'Your session has ended. Please sign in again.',
  keyLost: 'The key of your session is missing in this browser. Please sign in again.',
};

/** Files of their own, so that each user loads one of them at most. */
const LOADERS = new Map<string, () => Promise<{ default: Texts }>>([
  ['de', () => import('./texts/de.js')],
  ['es', () => import('./texts/es.js')],
  ['fr', () => import('./texts/fr.js')],
  ['ja', () => import('./texts/ja.js')],
  ['zh', () => import('./texts/zh.js')],
]);

/**
 * The texts, which are English until those of another language have come. The dialog brings the English ones of its own.
 * @param locale such as `de-AT` or `zh_Hant_TW`; English for every language that is not ours
 * @param own replace single texts
 */
export function textsFor(locale: string, own?: Partial<Texts>): Texts {
  // Where a translation is missing, applications give undefined.
  const words = Object.fromEntries(Object.entries(own ?? {}).filter(([, text]) => typeof text === 'string'));
  const texts = { ...ENGLISH, ...words } as Texts;
  const [, language = ''] = /^([a-z]{2})(?![a-z])/i.exec(locale) ?? [];
  LOADERS.get(language.toLowerCase())?.().then(
    ({ default: others }) => Object.assign(texts, others, words),
    () => undefined, // English it stays
  );
  return texts;
}
