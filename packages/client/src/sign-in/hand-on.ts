import type { LatchkeyError } from '../latchkey-error.js';
import type { after } from '../service/timer.js';
import type { openBroadcast } from '../tokens/storage.js';
import type { CallbackQuery, Report, reportError, SignInMemory, Taken } from './callback.js';

/** Seconds for which the callback page waits for the page that began the sign-in. */
const HANDOVER_TIMEOUT = 2;

const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const;

/** What the main file passes. This file, which `handleCallback()` loads, imports nothing of it: shared code would become a third file. */
type Parts = readonly [
  Failure: typeof LatchkeyError,
  /** `type` of the message to the page that began. */
  message: string,
  openLine: typeof openBroadcast,
  reportError: typeof reportError,
  after: typeof after,
];

/**
 * Runs on the callback page: sends code and state to the page that began the sign-in.
 * @param href address of the page when `handleCallback()` was called
 * @param report of an error for which no page waits
 * @param isSignedIn asks whether the session of this browser lives
 * @returns whether this window can be closed
 * @throws LatchkeyError `invalid_state` if no page of this browser began a sign-in with this state, and none is signed in
 */
export async function handOn(
  [Failure, message, openBroadcast, reportError, after]: Parts,
  href: string,
  { begun, arrived, line }: SignInMemory,
  report: Report,
  isSignedIn: () => Promise<boolean>,
): Promise<boolean> {
  const query = takeQuery(href);
  const isBareError = !!query.error && !query.code && !query.state;
  const mine = begun.get();
  /** The client's frame has a parent of this origin; null for a parent of another origin. */
  const isFrame = !!frameElement;
  // The sign-in began in this tab: by a redirect, or the provider's page left the frame (`target="_top"`). An error without a state
  // counts only if no page around can have caused it.
  const isHere =
    mine &&
    (isBareError ? parent === window : mine.state === query.state && !(isFrame && mine.mode === 'iframe'));
  if (isHere) {
    arrived.put(query);
    history.replaceState(null, '', mine.returnTo);
    location.reload(); // also loads a page that differs in the fragment only
    return false;
  }
  const target = (isFrame ? parent : window.opener) as Window | null;
  target?.postMessage({ type: message, query }, location.origin);
  if (isFrame) return false;
  // `Cross-Origin-Opener-Policy` may have removed the opener, and an opener may not be waiting.
  if (!(await handOver(openBroadcast(line), query, after))) {
    reportError(report, query.state, query);
    // A callback that was used before: the user went back, or the browser has restored the tab.
    if (query.code && (await isSignedIn())) return false;
    throw new Failure('invalid_state');
  }
  window.close();
  return true;
}

/** Reads the parameters, and removes them from the page's address: a code must not stay there. */
function takeQuery(href: string): CallbackQuery {
  const [loaded] = performance.getEntriesByType('navigation');
  const at = [loaded?.name ?? '', ''].map((one) => {
    const { origin, pathname } = new URL(one, href);
    return origin + pathname;
  });
  const query: CallbackQuery = { at };
  const { searchParams } = new URL(href);
  const now = new URL(location.href);
  const take = (name: string): string | undefined => {
    const value = searchParams.get(name) ?? undefined;
    // A page to which a router has led meanwhile may have its own.
    if (value === now.searchParams.get(name)) now.searchParams.delete(name);
    return value;
  };
  for (const name of PARAMETERS) query[name] = take(name);
  // CAS sends a ticket instead of a code. With a code or an error, the parameter belongs to the application.
  if (!query.code && !query.error) query.code = take('ticket');
  history.replaceState(history.state, '', now);
  return query;
}

/** Runs on the callback page. @returns whether the page that began the sign-in accepted the callback within 2 s */
function handOver(
  channel: BroadcastChannel | undefined,
  query: CallbackQuery,
  wait: typeof after,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isTaken: boolean): void => {
      cancel();
      channel?.close();
      resolve(isTaken);
    };
    const cancel = wait(HANDOVER_TIMEOUT, () => end(false));
    channel?.addEventListener('message', ({ data }) => {
      const { taken } = (data ?? {}) as Taken;
      if (taken && taken === query.state) end(true);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has none
    channel?.postMessage(query);
  });
}
