import type { SocketIo } from './channel/channel-events.js';
import type { LatchkeyError } from './latchkey-error.js';
import type { AccountTexts } from './texts/account/account-texts.js';
import type { Texts } from './texts/texts.js';

/**
 * How the provider's page is shown.
 * - `iframe`: in the dialog, for providers that allow framing
 * - `popup`: in a window; call `signIn()` directly from a click
 * - `redirect`: in this tab; the browser returns to the page's address afterwards. In a frame, or if the browser stores nothing, the
 *   dialog offers a window first
 */
export type SignInMode = 'iframe' | 'popup' | 'redirect';

/** How the user signs in. The service passes what the provider understands, and ignores the rest. */
export interface SignInOptions {
  /**
   * Name of the provider in the service's settings. Default: the client's, else the only one that is enabled. If there are several,
   * the user chooses in the dialog, by the e-mail address if providers serve domains.
   */
  readonly provider?: string | undefined;
  /**
   * E-mail address of the user. Its domain chooses the provider, if providers serve domains (`email_domains`) and none is named; only
   * this part is sent to the service then. The provider's page suggests the address, as by `loginHint`.
   *
   * @example
   * latchkey.signIn({ email: 'ada@corp.example' });
   */
  readonly email?: string | undefined;
  /** How the provider's page is shown. Default: the client's, else the service's setting for the provider. */
  readonly mode?: SignInMode | undefined;
  /** Login name or e-mail address that the provider's page suggests. Default `email`. */
  readonly loginHint?: string | undefined;
  /** E.g. `login` (asks for the password again) or `select_account`. */
  readonly prompt?: string | undefined;
  /** Seconds. If the user's last login at the provider is longer ago, the provider asks for a new one. */
  readonly maxAge?: number | undefined;
  /** Wanted levels of authentication, separated by spaces. */
  readonly acrValues?: string | undefined;
  /** Other parameters of the provider's page by their names, e.g. `{ ui_locales: 'de' }`. */
  readonly params?: Readonly<Record<string, string>> | undefined;
}

/** How the user has to have signed in. */
export interface StepUpOptions {
  /** Seconds since the user authenticated at the provider, at most. */
  readonly maxAge?: number | undefined;
  /** Levels of authentication, separated by spaces; one of them is enough. */
  readonly acrValues?: string | undefined;
}

/** A provider at which users can sign in. */
export interface Provider {
  /** Name in the service's settings. */
  readonly name: string;
  /** Name for people. */
  readonly label: string;
  /** How its page is shown: the service's setting. */
  readonly mode: SignInMode;
}

/** Options of buttons, one per provider. */
export interface ProviderButtonsOptions extends Omit<SignInOptions, 'provider'> {
  /** Gets the error of a failed sign-in, which the dialog has shown. Not called if the user closes the dialog. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/** Options of the list of devices. */
export interface DevicesOptions {
  /** Gets the error of a request or an action, which the list has shown. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/** Options of the requests of devices. */
export interface DeviceRequestsOptions {
  /** Gets the error of the list or of a decision. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/** Options of the accounts by which the user may sign in. */
export interface IdentitiesOptions {
  /** Gets the error of the list or of an action, which the component has shown. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/** Options of the notice before a session ends since nobody acts. */
export interface IdleNoticeOptions {
  /** Gets the error of `stay()` or `signOut()`. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/** Options of the user's button. */
export interface UserOptions {
  /** Whether a sign-out ends the provider's session as well: see `signOut()`. */
  readonly provider?: boolean | undefined;
  /** Page to which the provider returns, as of `signOut()`. */
  readonly redirectUri?: string | undefined;
  /** Gets the error of a sign-out that the service has not received. */
  readonly onError?: ((error: LatchkeyError) => void) | undefined;
}

/**
 * Storage of the tokens: `localStorage` (all tabs share a session, which lasts), `sessionStorage` (one session per tab), `memory`
 * (until the page is left), or an object with these three functions.
 */
export type StorageChoice =
  | 'localStorage'
  | 'sessionStorage'
  | 'memory'
  | Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/**
 * Options of `createClient`: `url` and `redirectUri` are required.
 *
 * @example
 * createClient({ url: 'https://id.example.com', provider: 'mock', redirectUri: '/callback' });
 */
export interface ClientOptions {
  /** Address of the Latchkey service, e.g. `https://id.example.com`. */
  url: string;
  /**
   * Name of the provider in the service's settings, e.g. `mock`. Without it, `signIn({ provider })` names one, or the user chooses
   * in the dialog.
   */
  provider?: string | undefined;
  /**
   * Page that calls `handleCallback()`, e.g. `/callback`: of the application's own origin; may be relative to the page. The service
   * has to allow it (`REDIRECT_URIS`). With several providers each needs a page of its own: `/callback/{provider}`.
   */
  redirectUri: string;
  /** Storage of the tokens. Default `localStorage`. */
  storage?: StorageChoice | undefined;
  /**
   * Origins to which `fetch` sends the token, besides the service's. Default: the page's own, which your list replaces.
   *
   * @example
   * fetchOrigins: [location.origin, 'https://api.example.com']
   */
  fetchOrigins?: readonly string[] | undefined;
  /** How the provider's page is shown. Default: the service's setting for the provider. */
  mode?: SignInMode | undefined;
  /** Name of this device in the user's list. Default: from the platform, e.g. `Firefox on macOS`. */
  deviceName?: string | undefined;
  /**
   * Language of dialog and components: `en`, `ar`, `de`, `es`, `fr`, `he`, `it`, `ja`, `ko`, `nl`, `pl`, `pt`, `uk`, `zh`. Default: the
   * document's, else the browser's; else English.
   */
  locale?: string | undefined;
  /**
   * Replaces single texts of the language.
   *
   * @example
   * texts: { signIn: 'Log in' }
   */
  texts?: Partial<Texts & AccountTexts> | undefined;
  /**
   * Whether the dialog asks for a new login when a session ends without `signOut()`, and when an API asks for a newer sign-in. Default
   * true. With `false`, listen to `signedOut`; `fetch` returns the API's 401, and `stepUp()` asks the user.
   */
  askAgain?: boolean | undefined;
  /** Life of a session without a new login, in seconds: the service's `REFRESH_TOKEN_TTL`. Default 2592000 (30 days). */
  refreshTokenLife?: number | undefined;
  /**
   * Loads a Socket.IO client, e.g. `() => import('socket.io-client')`. Default: this package's own, which the first `connect()`
   * loads. Node.js before 22 has no WebSocket and needs this option.
   */
  loadSocketIo?: (() => Promise<SocketIo>) | undefined;
}
