import type { SocketIo } from './socket-io.js';
import type { Texts } from './texts.js';

/** How the provider's page is shown. Where one way is not possible, the next one is used. */
export type SignInMode = 'iframe' | 'popup' | 'redirect';

/** Where the tokens are kept, or an object like `localStorage` of your own. */
export type StorageChoice =
  'localStorage' | 'sessionStorage' | 'memory' | Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface ClientOptions {
  /** The service's `{base_url}`, e.g. `https://id.example.com`. */
  url: string;
  /** Name of the configured provider (spec §4.6), e.g. `mock`. */
  provider: string;
  /** The callback page, of the same origin as the application; may be relative to the page. */
  redirectUri: string;
  /** Default `localStorage`: all tabs share one session. docs/frontend.md has the reasons. */
  storage?: StorageChoice;
  /** Origins besides the service's that `fetch` sends the token to. Default: the page's own. */
  fetchOrigins?: readonly string[];
  /** Default `iframe`. */
  mode?: SignInMode;
  /** Name of this device in the user's list (spec §2.4). Default: from the platform, e.g. `Firefox on macOS`. */
  deviceName?: string;
  /** Language of the dialog: `en`, `de`, `zh`. Default: the document's, else the browser's; else English. */
  locale?: string;
  /** Your own words, which replace single texts of the language. */
  texts?: Partial<Texts>;
  /** Whether the dialog asks for a new login when a session ends by itself (spec §1). Default true. */
  askAgain?: boolean;
  /** Seconds a refresh token lives (contract §2 `REFRESH_TOKEN_TTL`). Default 2592000: 30 days (spec §2.2). */
  refreshTokenLife?: number;
  /** Loads Socket.IO's client. Default: `() => import('socket.io-client')`. */
  loadSocketIo?: () => Promise<SocketIo>;
}
