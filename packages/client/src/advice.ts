import { after } from './service/timer.js';

declare const DEVELOPMENT: boolean;

/** True in the development build and in tests. The production build drops the code that depends on it. */
export const IS_DEVELOPMENT = typeof DEVELOPMENT === 'undefined' || DEVELOPMENT;

/** Keeps the console readable. */
const MAX_WARNINGS = 50;
const shown = new Set<string>();

/** Warns the developer, once per text. @param text what is wrong, then what to do; never a token, a code or a query */
export function advise(text: string): void {
  if (shown.size >= MAX_WARNINGS || shown.has(text)) return;
  shown.add(text);
  console.warn(`[latchkey] ${text}`);
}

/** Number of clients in this page, by the service's address. */
const clients = new Map<string, number>();

/** Checks the set-up of a new client in a page. @returns a function to be called when the client is closed */
export function adviseOnSetup(url: string, redirectUri: string): () => void {
  if (!isSecureContext) {
    advise(
      `This page was loaded over http:, so browsers offer no cryptography and signing in fails. Use https:, or ${location.protocol}//localhost for development.`,
    );
  }
  const callback = new URL(redirectUri, document.baseURI).origin;
  if (callback !== location.origin) {
    advise(
      `redirectUri is on ${callback}, but this page is on ${location.origin}: the callback page reaches pages of its own origin only. Set a redirectUri of this origin, such as '/callback'. (localhost and 127.0.0.1 are different origins.)`,
    );
  }
  const count = (clients.get(url) ?? 0) + 1;
  clients.set(url, count);
  if (count > 1) {
    advise(
      'There is more than one client of the same service in this page. Call createClient() once, in a module and not in a component, or close() the clients that you do not need.',
    );
  }
  return () => void clients.set(url, clients.get(url)! - 1);
}

/** Seconds. */
const CALLBACK_DELAY = 3;

/** Warns of a page that was loaded with a provider's answer and passes it to no sign-in. */
export function adviseOnCallback(isHandled: () => boolean): void {
  const { search, origin, pathname } = location;
  if (!/[?&]state=/.test(search) || !/[?&](code|ticket|error)=/.test(search)) return;
  after(CALLBACK_DELAY, () => {
    if (!isHandled() && location.search === search)
      advise(
        `${origin}${pathname} got a provider's answer, but does not call handleCallback(): call it on this page.`,
      );
  });
}

/** @param loaded address of the callback page */
export function adviseOnArrival(loaded: string, redirectUri: string): void {
  advise(`The callback arrived at ${loaded}, but redirectUri is ${redirectUri}: sign-in is refused.`);
}

/** @param listed `fetchOrigins`, or its default */
export function adviseOnOrigin(origin: string, listed: readonly string[]): void {
  const list = [...listed, origin].map((one) => `'${one}'`).join(', ');
  advise(
    `fetch() sent no token to ${origin}, because that origin is not in fetchOrigins. If it is your API: createClient({ …, fetchOrigins: [${list}] }).`,
  );
}

/** @param origin of an API that answered 401 */
export function adviseOnChallenge(origin: string): void {
  advise(
    `${origin} answered 401, and its WWW-Authenticate cannot be read, so a request for a newer sign-in would go unnoticed. Its CORS headers should have: Access-Control-Expose-Headers: WWW-Authenticate.`,
  );
}
