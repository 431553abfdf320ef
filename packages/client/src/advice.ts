declare const DEVELOPMENT: boolean;

/** True in the development build, and where the sources are run as they are. Built for production, what depends on it is left out. */
export const IS_DEVELOPMENT = typeof DEVELOPMENT === 'undefined' || DEVELOPMENT;

/** More would flood the console. */
const MOST = 50;
const given = new Set<string>();

/** Tells the developer, once, what will not work and what to do. @param text never with a token, a code or an address' query */
export function advise(text: string): void {
  if (given.size >= MOST || given.has(text)) return;
  given.add(text);
  console.warn(`[latchkey] ${text}`);
}

/** How many clients of each service this page has. */
const clients = new Map<string, number>();

/** What can be seen to be wrong as soon as a client is made in a page. Returns a function for its end. */
export function adviseOnSetup(url: string, redirectUri: string): () => void {
  if (!isSecureContext) {
    advise(
      `This page came over http:, where browsers give no cryptography: nobody can sign in here. Use https:, or ${location.protocol}//localhost for development.`,
    );
  }
  const callback = new URL(redirectUri, document.baseURI).origin;
  if (callback !== location.origin) {
    advise(
      `redirectUri is on ${callback}, this page on ${location.origin}: the callback page can hand a sign-in over to pages of its own origin only. Give a redirectUri of this origin, such as '/callback'. (localhost and 127.0.0.1 are two origins.)`,
    );
  }
  const count = (clients.get(url) ?? 0) + 1;
  clients.set(url, count);
  if (count > 1) {
    advise(
      'There is more than one client of the same service in this page. Call createClient() once, in a module of its own and not inside a component, or close() those that you do not need.',
    );
  }
  return () => void clients.set(url, clients.get(url)! - 1);
}

/** @param listed what `fetchOrigins` has, or its default */
export function adviseOnOrigin(origin: string, listed: readonly string[]): void {
  const list = [...listed, origin].map((one) => `'${one}'`).join(', ');
  advise(
    `fetch() sent no token to ${origin}, because that is not in fetchOrigins. If it is your own API: createClient({ …, fetchOrigins: [${list}] }).`,
  );
}
