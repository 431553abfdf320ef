import type { Channel } from './channel-events.js';
import type { Device, SignOutOptions, SignOutScope, User } from './device-list.js';
import type { SignInMode } from './options.js';
import type { ClientEvents, Session } from './session.js';

/** The client that `createClient` returns; an application makes one, once. */
export interface Latchkey {
  /** Who is signed in; undefined when nobody is. */
  readonly session: Session | undefined;

  /** Listens to an event; returns a function that stops it. */
  on<Name extends keyof ClientEvents>(event: Name, handler: (detail: ClientEvents[Name]) => void): () => void;

  /**
   * Signs the user in (spec §1), in a dialog that shows progress, and errors with a retry. Call it from a click.
   * With mode `redirect` the browser leaves the page: the session is there when the page is loaded again.
   * @throws LatchkeyError `cancelled` when the user closes the dialog
   */
  readonly signIn: (options?: { mode?: SignInMode }) => Promise<Session>;

  /**
   * For the callback page: hands code and state on to the page that began the sign-in, and removes them from the
   * address. Makes no request.
   * @throws LatchkeyError `invalid_state` when they belong to no sign-in of this browser window
   */
  readonly handleCallback: () => Promise<void>;

  /**
   * An access token that is valid for a while: refreshed when it is due.
   * @throws LatchkeyError `signed_out` when nobody is signed in or the refresh was refused; another code when the token has
   *   expired and the service cannot be reached: the session stays, try again later
   */
  readonly accessToken: () => Promise<string>;

  /** Like the browser's `fetch`, with `Authorization: Bearer …` for the origins on the list, and for no other. */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

  /**
   * Opens the user's channel; resolves when it is subscribed, however long that takes. There is only one: another call
   * returns the same.
   * @param options `offset` and `id` of the last event that the application has; later connections go on by themselves
   * @throws LatchkeyError `signed_out`, `missing_peer`
   */
  readonly connect: (options?: { offset?: number; id?: string | null }) => Promise<Channel>;

  /**
   * Signs out (contract §4). `current` (default) and `all` end the session in all tabs at once, whether the service
   * can be reached or not. With `provider`, in a page, the session at the provider ends as well: where it has an address for
   * that (OpenID Connect RP-Initiated Logout 1.0), the browser goes there.
   * @throws LatchkeyError when the service could not be told
   */
  readonly signOut: (scope?: SignOutScope | SignOutOptions) => Promise<void>;

  readonly me: () => Promise<User>;
  /** The user's devices, newest use first. */
  readonly devices: () => Promise<Device[]>;
  readonly renameDevice: (deviceId: string, name: string) => Promise<Device>;
  /** Signs a device out and forgets it. */
  readonly removeDevice: (deviceId: string) => Promise<void>;

  /** Stops timers, listeners and the channel. The session stays stored. */
  readonly close: () => void;
}
