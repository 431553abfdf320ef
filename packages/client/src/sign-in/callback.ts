import { LatchkeyError } from '../latchkey-error.js';
import type { SignInMode, SignInOptions } from '../options.js';
import { after } from '../service/timer.js';
import { openBroadcast, stored, type Stored } from '../tokens/storage.js';

/** Seconds for which the callback page waits for the page that began the sign-in. */
const HANDOVER_TIMEOUT = 2;

/** The `type` of the message that the callback page posts to its own origin. */
export const MESSAGE = 'latchkey:callback';

const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const;

/** The parameters of a callback (spec §1, step 3; RFC 6749 §4.1.2, RFC 9207). */
export type CallbackQuery = { [Name in (typeof PARAMETERS)[number]]?: string | undefined } & {
  /** Where the callback arrived, without query: as the page was loaded, and as its address is now. A router may have changed it. */
  at?: readonly string[];
};

/** Options of a sign-in. */
export interface Asked extends SignInOptions {
  /** Id of the only user that may sign in (contract §5, Step-up). */
  readonly user?: string;
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
  options: Asked;
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

/**
 * Runs on the callback page: sends code and state to the page that began the sign-in.
 * @param report of an error for which no page waits
 * @returns whether this window can be closed
 * @throws LatchkeyError `invalid_state` if no page of this browser began a sign-in with this state
 */
export async function handOn({ begun, arrived, line }: SignInMemory, report: Report): Promise<boolean> {
  const query = takeQuery();
  const mine = begun.get();
  /** The client's frame has a parent of this origin; null for a parent of another origin. */
  const isFrame = !!frameElement;
  // The sign-in began in this tab: by a redirect, or the provider's page left the frame (`target="_top"`). An error without a state
  // counts only if no page around can have caused it.
  const isHere =
    mine &&
    (isBareError(query)
      ? parent === window
      : mine.state === query.state && !(isFrame && mine.mode === 'iframe'));
  if (isHere) {
    arrived.put(query);
    history.replaceState(null, '', mine.returnTo);
    location.reload(); // also loads a page that differs in the fragment only
    return false;
  }
  const target = (isFrame ? parent : window.opener) as Window | null;
  target?.postMessage({ type: MESSAGE, query }, location.origin);
  if (isFrame) return false;
  // `Cross-Origin-Opener-Policy` may have removed the opener, and an opener may not be waiting.
  if (!(await handOver(line, query))) {
    reportError(report, query.state, query);
    throw new LatchkeyError('invalid_state');
  }
  window.close();
  return true;
}

/** An error without a state, against RFC 6749 §4.1.2.1: only its window shows to which sign-in it belongs. */
export const isBareError = (query: CallbackQuery): boolean => !!query.error && !query.code && !query.state;

/** Reports to the service, in the background: the user does not wait for it. */
export type Report = (path: string, body: object) => void;

/** Reports that a sign-in has ended in the browser, where the service does not notice it (contract §4). */
export function reportError(
  report: Report,
  state: string | undefined,
  { error, error_description }: CallbackQuery,
): void {
  if (error && state) report('/oauth2/callback-error', { state, error, error_description });
}

/** Reads the parameters, and removes them from the address: a code must not stay there. */
function takeQuery(): CallbackQuery {
  const address = new URL(location.href);
  const [loaded] = performance.getEntriesByType('navigation');
  const at = [loaded?.name ?? '', ''].map((one) => {
    const { origin, pathname } = new URL(one, address);
    return origin + pathname;
  });
  const query: CallbackQuery = { at };
  const take = (name: string): string | undefined => {
    const value = address.searchParams.get(name) ?? undefined;
    address.searchParams.delete(name);
    return value;
  };
  for (const name of PARAMETERS) query[name] = take(name);
  // CAS sends a ticket instead of a code. With a code or an error, the parameter belongs to the application.
  if (!query.code && !query.error) query.code = take('ticket');
  history.replaceState(history.state, '', address);
  return query;
}

/** Sent back on the line by the page that accepted the callback with this state. */
type Taken = { readonly taken?: string };

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

/** Runs on the callback page. @returns whether the page that began the sign-in accepted the callback within 2 s */
function handOver(line: string, query: CallbackQuery): Promise<boolean> {
  return new Promise((resolve) => {
    const channel = openBroadcast(line);
    const end = (isTaken: boolean): void => {
      cancel();
      channel?.close();
      resolve(isTaken);
    };
    const cancel = after(HANDOVER_TIMEOUT, () => end(false));
    channel?.addEventListener('message', ({ data }) => {
      const { taken } = (data ?? {}) as Taken;
      if (taken && taken === query.state) end(true);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has none
    channel?.postMessage(query);
  });
}
