import type { SocketIo } from './socket-io.js';
import type { Texts } from './texts.js';

/**
 * How the provider's page is shown.
 * - `iframe`: inside of the dialog, for providers that allow it
 * - `popup`: in a window of its own; `signIn()` has to be called directly from a click
 * - `redirect`: in the page's place; the browser comes back to the same address afterwards. In a frame, or where the browser stores
 *   nothing, the dialog offers a window first
 */
export type SignInMode = 'iframe' | 'popup' | 'redirect';

/**
 * Where the tokens are kept: `localStorage` (all tabs share a session, which lasts), `sessionStorage` (each tab has its own),
 * `memory` (until the page is left), or an object of your own with these three functions.
 */
export type StorageChoice =
  'localStorage' | 'sessionStorage' | 'memory' | Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/**
 * What `createClient` needs to know: three addresses and names. The rest has defaults.
 *
 * @example
 * createClient({ url: 'https://id.example.com', provider: 'mock', redirectUri: '/callback' });
 */
export interface ClientOptions {
  /** The address of the Latchkey service, e.g. `https://id.example.com`. */
  url: string;
  /** The provider that users sign in with, by the name that it has in the service's settings, e.g. `mock`. */
  provider: string;
  /**
   * The page that calls `handleCallback()`, e.g. `/callback`: of the application's own origin; may be relative to the page. The
   * service has to allow it (`REDIRECT_URIS`).
   */
  redirectUri: string;
  /** Where the tokens are kept, and so which tabs share a session. Default `localStorage`: all tabs share one, and it lasts. */
  storage?: StorageChoice | undefined;
  /**
   * Origins besides the service's that `fetch` sends the token to. Default: the page's own, which a list of yours replaces.
   *
   * @example
   * fetchOrigins: [location.origin, 'https://api.example.com']
   */
  fetchOrigins?: readonly string[] | undefined;
  /**
   * How the provider's page is shown. Leave it out: then the client asks the service, whose settings say which mode the provider
   * needs. A mode of your own counts for every sign-in; `signIn({ mode })` gives one for a single sign-in.
   */
  mode?: SignInMode | undefined;
  /** Name of this device in the user's list. Default: from the platform, e.g. `Firefox on macOS`. */
  deviceName?: string | undefined;
  /** Language of the dialog: `en`, `de`, `es`, `fr`, `ja`, `zh`. Default: the document's, else the browser's; else English. */
  locale?: string | undefined;
  /**
   * Your own words, which replace single texts of the language.
   *
   * @example
   * texts: { signIn: 'Log in' }
   */
  texts?: Partial<Texts> | undefined;
  /**
   * Whether the dialog opens by itself and asks for a new login when a session ends without `signOut()`. Default true. With `false`,
   * listen to `signedOut`, and ask yourself.
   */
  askAgain?: boolean | undefined;
  /** Seconds that a session lives without a new login: the service's `REFRESH_TOKEN_TTL`. Default 2592000, 30 days. */
  refreshTokenLife?: number | undefined;
  /**
   * Loads a Socket.IO client of your own, e.g. `() => import('socket.io-client')`. Default: the one that comes with this package,
   * which is loaded by the first `connect()`. Node.js before 22 has no WebSocket, so there you have to bring one.
   */
  loadSocketIo?: (() => Promise<SocketIo>) | undefined;
}
