/** Milliseconds. A page that has not called `handleCallback()` after one to two intervals does not call it. */
const INTERVAL = 3000;

/**
 * Warns the developer if the provider has sent the browser back, but the page there does not call `handleCallback()`: the user
 * would wait for ever.
 * @param view window or frame of the provider's page at `url`; a finished sign-in closes it
 */
export function watchCallback(view: Window, url: string, redirectUri: string): void {
  // A router may have left the redirect URI; a provider of the same origin has pages there, too.
  const own = new URL(url).origin === location.origin ? redirectUri : location.origin;
  let before: string | undefined;
  const timer = setInterval(() => {
    if (view.closed) return clearInterval(timer);
    const now = addressOf(view);
    if (now?.startsWith(own) && now === before) {
      clearInterval(timer);
      console.warn(
        `Latchkey: the provider has answered, but the page at ${redirectUri} does not call handleCallback(). Call it there, by a client with the same options.`,
      );
    }
    before = now;
  }, INTERVAL);
}

/** @returns undefined for a page of another origin */
function addressOf(view: Window): string | undefined {
  try {
    return view.location.href;
  } catch {
    return undefined;
  }
}
