import type { Channel } from './channel-events.js';
import type { Device, SignOutOptions, SignOutScope, User } from './device-list.js';
import type { SignInMode } from './options.js';
import type { ClientEvents, Session } from './session.js';

/** Where to go on in the user's events: after the last one that the application has. */
export interface ConnectOptions {
  /** Its `offset`: what came later is delivered first. 0: all that is kept. Left out: only what comes from now on. */
  readonly offset?: number | undefined;
  /** Its `id`, by which a history that was restored from a backup is noticed. */
  readonly id?: string | null | undefined;
}

/**
 * The client that `createClient` returns; an application makes one, once. Every function rejects with a `LatchkeyError`.
 * @typeParam Events the application's own events: an interface of their names and of what they carry
 */
// oxlint-disable-next-line typescript/no-explicit-any -- so that a client of any events is one
export interface Latchkey<Events extends object = any> {
  /**
   * Who is signed in; undefined when nobody is. The same object until something in it changes.
   *
   * @example
   * const session = useSyncExternalStore((notify) => latchkey.on('change', notify), () => latchkey.session);
   */
  readonly session: Session | undefined;

  /**
   * Listens to an event of the client: `change` (signed in, refreshed or signed out, here or in another tab), `signedOut`, `progress`,
   * `request`. Returns a function that stops it. Events that are pushed to the user come by `connect()`.
   *
   * @example
   * const stop = latchkey.on('change', (session) => show(session?.username ?? 'nobody'));
   */
  on<Name extends keyof ClientEvents>(event: Name, handler: (detail: ClientEvents[Name]) => void): () => void;

  /**
   * Signs the user in, in a dialog that shows progress, and errors with a retry; resolves with the session. Call it directly from a
   * click: otherwise browsers block windows, and the dialog has to ask for another click. With mode `redirect` the browser
   * leaves the page: the session is there when the page is loaded again.
   * @throws LatchkeyError when the user closes the dialog: what that has said last, else `cancelled`; `no_browser` outside of
   *   a page
   *
   * @example
   * button.onclick = () => latchkey.signIn().catch(() => {}); // the dialog has said what went wrong
   */
  readonly signIn: (options?: { mode?: SignInMode | undefined }) => Promise<Session>;

  /**
   * For the callback page, at `redirectUri`: hands what the provider has sent on to the page that began the sign-in, and removes
   * it from the address. Makes no request. Call it once: not in an effect that runs twice, as React's do in `StrictMode`.
   * @throws LatchkeyError `invalid_state` when it belongs to no sign-in of this browser; `no_browser` outside of a page
   *
   * @example
   * latchkey.handleCallback().catch(({ code }) => document.body.append(`Signing in did not work (${code}).`));
   */
  readonly handleCallback: () => Promise<void>;

  /**
   * An access token that is valid for a while: refreshed when it is due. Send it as `Authorization: Bearer …`; `fetch` does.
   * @throws LatchkeyError `signed_out` when nobody is signed in, another user has signed in meanwhile, or the refresh was refused;
   *   another code when the token has expired and the service cannot be reached: the session stays, try again later
   */
  readonly accessToken: () => Promise<string>;

  /**
   * Like the browser's `fetch`, with `Authorization: Bearer …` for the service's origin and those of `fetchOrigins`, and for no
   * other: not for an API of another origin that is not listed there. As with `fetch`, an answer of any status resolves.
   * @throws LatchkeyError `network` when there is no answer, or what `accessToken` throws; when your own signal aborts it, that
   *   signal's reason
   *
   * @example
   * const orders = await (await latchkey.fetch('/api/orders')).json();
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

  /**
   * Opens the user's channel, on which your API's pushes arrive; resolves when it is connected, however long that takes. There is
   * only one: another call returns the same. It reconnects by itself until the session ends.
   * @param options where to go on; later connections go on by themselves
   * @throws LatchkeyError `signed_out` when nobody is signed in, or the session ends before; `missing_peer` where there is no
   *   WebSocket (Node.js before 22); `network` when the channel's code cannot be loaded
   *
   * @example
   * const channel = await latchkey.connect();
   * channel.on('order.shipped', (order) => show(order));
   */
  readonly connect: (options?: ConnectOptions) => Promise<Channel<Events>>;

  /**
   * Signs out: `current` (default) this device, `others` every other one, `all` both. `current` and `all` end the session in
   * all tabs at once, whether the service can be reached or not. With `provider`, the session at the provider ends as well, if
   * that has an address for it: the browser goes there.
   * @throws LatchkeyError when the service could not be told. The user is signed out in this browser all the same
   */
  readonly signOut: (scope?: SignOutScope | SignOutOptions) => Promise<void>;

  /** Asks the service who the user is, as the provider told at the last sign-in. `session` then has what is new in it. */
  readonly me: () => Promise<User>;

  /**
   * The user's devices, newest use first. Call it as often as something may have changed: calls at the same time share a request
   * for each 100 devices.
   * `online` of this device is what its channel says, if this client has opened one.
   */
  readonly devices: () => Promise<Device[]>;
  /** Renames a device, and returns it. The channel tells the user's other devices. */
  readonly renameDevice: (deviceId: string, name: string) => Promise<Device>;
  /** Signs a device out and removes it from the list. */
  readonly removeDevice: (deviceId: string) => Promise<void>;

  /** Stops timers, listeners and the channel. The session stays stored. */
  readonly close: () => void;
}
