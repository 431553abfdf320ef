import type { SignInMode, SignInOptions } from '../options.js';
import { openBroadcast, stored, type Stored } from '../tokens/storage.js';

/** The `type` of the message that the callback page posts to its own origin. */
export const MESSAGE = 'latchkey:callback';

/** The parameters of a callback (spec §1, step 3; RFC 6749 §4.1.2, RFC 9207). */
export type CallbackQuery = {
  [Name in 'code' | 'state' | 'iss' | 'error' | 'error_description']?: string | undefined;
} & {
  /** Where the callback arrived, without query: as the page was loaded, and as its address is now. A router may have changed it. */
  at?: readonly string[];
};

/** The proof of another account of the user, which the service has begun: in place of a sign-in. */
interface BegunLink {
  readonly url: string;
  readonly state: string;
  readonly redirectUri: string;
}

/** Options of a sign-in. */
export interface RequestedSignIn extends SignInOptions {
  /** Id of the only user that may sign in. */
  readonly user?: string;
  /** If the user has chosen the provider: the options before, for another choice. */
  readonly before?: SignInOptions;
  readonly link?: BegunLink;
}

/** A sign-in that this tab has begun. */
export interface PendingSignIn {
  state: string;
  verifier: string;
  redirectUri: string;
  /** The service's own name; undefined if the service does not support proofs of possession. */
  issuer?: string | undefined;
  mode: SignInMode;
  /** For a retry. */
  options: RequestedSignIn;
  /** Address of the page that began, for a redirect. */
  returnTo: string;
}

/** State of a sign-in while the tab shows another page; sessionStorage belongs to one tab. */
export interface SignInMemory {
  /** Removed before a popup opens: a popup gets a copy of the sessionStorage, but must not finish the sign-in itself. */
  begun: Stored<PendingSignIn>;
  /** A callback for the page that began the sign-in, which is loaded again. */
  arrived: Stored<CallbackQuery>;
  /** Name of the BroadcastChannel on which pages of this origin exchange callbacks. */
  line: string;
}

export function signInMemory(key: string): SignInMemory {
  return {
    begun: stored('sessionStorage', `${key}:sign-in`),
    arrived: stored('sessionStorage', `${key}:callback`),
    line: `${key}:callback`,
  };
}

/** An error without a state, against RFC 6749 §4.1.2.1: only its window shows to which sign-in it belongs. */
export const isBareError = (query: CallbackQuery): boolean => !!query.error && !query.code && !query.state;

/** Reports to the service, in the background: the user does not wait for it. */
export type Report = (path: string, body: object) => void;

/** Reports that a sign-in has ended in the browser, where the service does not notice it. */
export function reportError(
  report: Report,
  state: string | undefined,
  { error, error_description }: CallbackQuery,
): void {
  if (error && state) report('/oauth2/callback-error', { state, error, error_description });
}

/** Sent back on the line by the page that accepted the callback with this state. */
export type Taken = { readonly taken?: string };

/**
 * Waits for the callback of one sign-in, on the page that began it. Any script of this origin may post any message.
 * @returns a function that stops waiting
 */
export function awaitCallback(
  line: string,
  state: string,
  onCallback: (query: CallbackQuery) => void,
): () => void {
  const channel = openBroadcast(line);
  channel?.addEventListener('message', ({ data }) => {
    const query = (data ?? {}) as CallbackQuery;
    if (query.state !== state) return;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has none
    channel.postMessage({ taken: state } satisfies Taken);
    onCallback(query);
  });
  return () => channel?.close();
}
