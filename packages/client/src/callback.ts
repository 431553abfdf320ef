import { handOver, PARAMETERS, type CallbackQuery } from './handover.js';
import { LatchkeyError } from './latchkey-error.js';
import type { SignInMode } from './options.js';
import { stored, type Stored } from './storage.js';

/** A sign-in that this tab has begun. */
export interface Begun {
  state: string;
  verifier: string;
  redirectUri: string;
  /** The service's name for itself; undefined where it knows of no proofs of possession. */
  issuer?: string | undefined;
  mode: SignInMode;
  /** The page to go back to after a redirect. */
  returnTo: string;
}

/** What a tab remembers of its sign-in while it shows another page; sessionStorage belongs to the tab alone. */
export interface SignInMemory {
  /** Removed before a popup opens: browsers copy the sessionStorage into it, and the popup must not finish the sign-in itself. */
  begun: Stored<Begun>;
  /** A callback that waits for the page that began the sign-in to be loaded again. */
  arrived: Stored<CallbackQuery>;
  /** The name under which this origin's pages hand a callback over. */
  line: string;
}

/** What the callback page posts, to its own origin only. */
export const MESSAGE = 'latchkey:callback';

export function signInMemory(key: string): SignInMemory {
  return {
    begun: stored('sessionStorage', `${key}:sign-in`),
    arrived: stored('sessionStorage', `${key}:callback`),
    line: `${key}:callback`,
  };
}

/**
 * The callback page's part: hands code and state on to the page that began the sign-in.
 * @returns whether this window is of no more use
 * @throws LatchkeyError `invalid_state` when nobody here began one with this state
 */
export async function handOn({ begun, arrived, line }: SignInMemory): Promise<boolean> {
  const query = takeQuery();
  const mine = begun.get();
  /** The page around is of this origin, so this may be its frame. Null for a page of another origin. */
  const isFrame = !!frameElement;
  // Whether the sign-in began here: it left this page, or the provider's page left the client's frame (`target="_top"`). An error
  // without a state counts only if no page around can have made it up.
  const isHere =
    mine &&
    (isBareError(query)
      ? parent === window
      : mine.state === query.state && !(isFrame && mine.mode === 'iframe'));
  if (isHere) {
    arrived.put(query);
    history.replaceState(null, '', mine.returnTo);
    location.reload(); // loads that page, even if it is this one or differs only in the fragment
    return false;
  }
  const target = (isFrame ? parent : window.opener) as Window | null;
  target?.postMessage({ type: MESSAGE, query }, location.origin); // no other origin can read it
  if (isFrame) return false;
  // A provider's page may have cut this window off from the one that opened it; and that one may not wait for us.
  if (!(await handOver(line, query))) throw new LatchkeyError('invalid_state', 'No page waits: begin again');
  window.close();
  return true;
}

/** An error without a state, against RFC 6749 §4.1.2.1: only its window shows to which sign-in it belongs. */
export const isBareError = (query: CallbackQuery): boolean => !!query.error && !query.code && !query.state;

/** Reads the parameters, and removes them: a code must not stay in the address, spent or not. */
function takeQuery(): CallbackQuery {
  const address = new URL(location.href);
  const query: CallbackQuery = {};
  const take = (name: string): string | undefined => {
    const value = address.searchParams.get(name) ?? undefined;
    address.searchParams.delete(name);
    return value;
  };
  for (const name of PARAMETERS) query[name] = take(name);
  // What CAS brings instead of a code. Beside either of these the name is the application's own.
  if (!query.code && !query.error) query.code = take('ticket');
  history.replaceState(history.state, '', address);
  return query;
}
