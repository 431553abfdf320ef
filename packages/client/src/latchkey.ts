import type { Channel } from './channel/channel-events.js';
import type { Identities, Identity } from './identity.js';
import type {
  DeviceRequestsOptions,
  DevicesOptions,
  IdentitiesOptions,
  IdleNoticeOptions,
  Provider,
  ProviderButtonsOptions,
  SignInOptions,
  StepUpOptions,
  UserOptions,
} from './options.js';
import type { ClientEvents, Session } from './session.js';
import type { UserClaims } from './tokens/claims.js';

/** Position in the user's events: the last event that the application has. */
export interface ConnectOptions {
  /** Its `offset`: later events are delivered first. 0: all stored events. Default: only new events. */
  readonly offset?: number | undefined;
  /** Its `id`, which detects a history that was restored from a backup. */
  readonly id?: string | null | undefined;
}

/** A program of a third party that acts for the user. Its name is what it says of itself. Times are RFC 3339. */
export interface Agent {
  /** An address, whose host is that of the program; else the name under which the service's settings have it. */
  readonly client_id: string;
  readonly client_name: string;
  /** The API that it may use. */
  readonly resource: string;
  /** What it may do there, separated by spaces. */
  readonly scope: string;
  readonly allowed_at: string;
  /** Name of the provider that has allowed it in place of the user; absent: the user has. */
  readonly allowed_by?: string;
}

/** A browser, an application or a program in which the user has signed in. Times are RFC 3339. */
export interface Device {
  /** Made by the device; unchanged by later sign-ins. */
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  /** From the user agent, e.g. `Chrome 156`. */
  readonly browser: string | null;
  /** From the user agent, e.g. `Windows 10/11`. */
  readonly os: string | null;
  /** IP address of the last sign-in, as far as the service keeps addresses. */
  readonly address: string | null;
  readonly created_at: string;
  /** To the minute. */
  readonly last_seen_at: string;
  /** Whether it is this device. */
  readonly current: boolean;
  /** Whether it has a live session. */
  readonly signed_in: boolean;
  /** Whether its channel is connected; up to a minute late for other devices. */
  readonly online: boolean;
  /** Of a program that acts for the user; `removeDevice()` ends it. */
  readonly agent?: Agent;
}

/** A program that a provider allows, and that stays away since a person has ended it. Times are RFC 3339. */
export interface RefusedProgram extends Pick<Agent, 'client_id' | 'client_name' | 'resource'> {
  /** Its device, which may be removed. */
  readonly device_id: string;
  readonly refused_at: string;
}

/** A device without a browser that asks to be signed in as the user. Times are RFC 3339. */
export interface DeviceRequest {
  readonly request_id: string;
  /** Name of the program, which proves nothing. */
  readonly client_id: string;
  readonly device_name: string | null;
  /** From the user agent, e.g. `Chrome 156`. */
  readonly browser: string | null;
  /** From the user agent, e.g. `Windows 10/11`. */
  readonly os: string | null;
  /** IP address, as far as the service keeps addresses. */
  readonly address: string | null;
  readonly created_at: string;
  readonly expires_at: string;
}

/** The signed-in user. Values that the provider does not send are null. */
export interface User {
  readonly user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly created_at: string;
  /** `roles`, `groups`, … */
  readonly claims: UserClaims;
}

/** Devices to sign out: this one, every other one, or all. */
export type SignOutScope = 'current' | 'others' | 'all';

/** Options of a sign-out at the provider. */
export interface SignOutOptions {
  /** Default `current`. The provider has no part in signing out `others`. */
  readonly scope?: Exclude<SignOutScope, 'others'> | undefined;
  /** Whether to end the provider's session as well: the browser leaves the page for the provider's, if it has one. */
  readonly provider?: boolean | undefined;
  /** Page to which the provider returns, registered there; may be relative. Default `/`. */
  readonly redirectUri?: string | undefined;
}

/**
 * The client that `createClient` returns. Make one per application. Every function rejects with a `LatchkeyError`.
 * @typeParam Events the application's events: an interface of names and data
 */
// oxlint-disable-next-line typescript/no-explicit-any -- so that a client of any events fits
export interface Latchkey<Events extends object = any> {
  /**
   * The session; undefined if no user is signed in. The object is replaced only when something in it changes.
   *
   * @example
   * const session = useSyncExternalStore((notify) => latchkey.on('change', notify), () => latchkey.session);
   */
  readonly session: Session | undefined;

  /**
   * When the session ends unless the user acts (RFC 3339, by this device's clock); null unless that is less than a minute away. The event
   * `idle` reports each change.
   */
  readonly idleEndsAt: string | null;

  /**
   * Listens to an event of the client: `change` (signed in, refreshed or signed out, in any tab), `signedOut`, `idle`, `progress`,
   * `request`. Returns a function that stops listening. For events pushed to the user see `connect()`.
   *
   * @example
   * const stop = latchkey.on('change', (session) => show(session?.username ?? 'signed out'));
   */
  on<Name extends keyof ClientEvents>(event: Name, handler: (detail: ClientEvents[Name]) => void): () => void;

  /**
   * Signs the user in by a dialog, which shows progress, errors and a retry; resolves with the session. Call it directly from a
   * click: otherwise browsers block windows, and the dialog asks for another click. With mode `redirect` the browser leaves the
   * page; the session exists when the page is loaded again. During a sign-in, another call joins it.
   * @throws LatchkeyError if the user closes the dialog: the error that it showed, else `cancelled`; `no_browser` without a page
   *
   * @example
   * button.onclick = () => latchkey.signIn().catch(() => {}); // the dialog has shown the error
   * corporate.onclick = () => latchkey.signIn({ provider: 'corp', prompt: 'login' }).catch(() => {});
   * form.onsubmit = () => latchkey.signIn({ email: form.email.value }).catch(() => {}); // its domain chooses the provider
   */
  readonly signIn: (options?: SignInOptions) => Promise<Session>;

  /**
   * Tells the service that the user is there, so that a session that is about to end for want of that goes on, in all tabs. Does nothing
   * if the service has no idle time.
   * @throws LatchkeyError `signed_out` without a session, or if the service has ended it; `network` if it cannot be reached
   *
   * @example
   * latchkey.on('idle', ({ ends_at }) => (notice.hidden = !ends_at));
   * notice.querySelector('button').onclick = () => latchkey.stay().catch(() => {});
   */
  readonly stay: () => Promise<void>;

  /**
   * Asks the user to sign in again, unless the session meets the options already; resolves with the session. Call it directly from a
   * click, like `signIn`. The old session ends. `fetch` does this by itself if an API answers as RFC 9470 says.
   * @throws LatchkeyError `other_user` if another user signs in: the session stays; as `signIn` does; `signed_out` without a session
   *
   * @example
   * button.onclick = () => latchkey.stepUp({ maxAge: 300 }).then(showForm, () => {});
   */
  readonly stepUp: (options: StepUpOptions) => Promise<Session>;

  /**
   * Lists the providers that the service offers, in the order of its settings.
   * @throws LatchkeyError `network` if the service cannot be reached
   */
  readonly providers: () => Promise<Provider[]>;

  /**
   * Puts a button for each provider into an element, in place of its content: with label and logo, in the client's language. If e-mail
   * addresses choose the provider, a single button, whose dialog asks for one; so without an answer of the service. The CSS custom properties of the dialog style the buttons.
   * @throws LatchkeyError `network` if the code of the buttons cannot be loaded; `no_browser` without a page
   *
   * @example
   * latchkey.showProviders(document.querySelector('#sign-in'));
   */
  readonly showProviders: (place: Element, options?: ProviderButtonsOptions) => Promise<void>;

  /**
   * Shows the user's devices in an element, in place of its content: rename, sign out one or all others, with live updates. In the
   * client's language; the CSS custom properties of the dialog style it. Empty while no user is signed in. An element shows what the
   * latest call asks for.
   * @returns a function that removes the list
   * @throws LatchkeyError `network` if the code of the list cannot be loaded; `no_browser` without a page
   *
   * @example
   * const remove = await latchkey.showDevices(document.querySelector('#devices'));
   */
  readonly showDevices: (place: Element, options?: DevicesOptions) => Promise<() => void>;

  /**
   * Shows a button with the user's picture or initials in an element, in place of its content. Its menu has the devices and the
   * sign-outs. In the client's language; the CSS custom properties of the dialog style it. Empty while no user is signed in.
   * @returns a function that removes the button
   * @throws LatchkeyError `network` if the code of the button cannot be loaded; `no_browser` without a page
   *
   * @example
   * latchkey.showUser(document.querySelector('header .user'));
   */
  readonly showUser: (place: Element, options?: UserOptions) => Promise<() => void>;

  /**
   * Shows a dialog with a countdown while the session is about to end since nobody acts, with buttons to stay and to sign out. In the
   * client's language; the CSS custom properties of the dialog style it.
   * @param place is empty at all other times. Outside of what may be hidden
   * @returns a function that removes it
   * @throws LatchkeyError `network` if its code cannot be loaded; `no_browser` without a page
   *
   * @example
   * latchkey.showIdleNotice(document.querySelector('#notice'));
   */
  readonly showIdleNotice: (place: Element, options?: IdleNoticeOptions) => Promise<() => void>;

  /**
   * Shows devices without a browser that ask to be signed in as the user, with "yes" and "no", and a field for the code of any other
   * one. In the client's language; the CSS custom properties of the dialog style it. Empty while no user is signed in.
   * @returns a function that removes it
   * @throws LatchkeyError `network` if its code cannot be loaded; `no_browser` without a page
   *
   * @example
   * latchkey.showDeviceRequests(document.querySelector('#requests'));
   */
  readonly showDeviceRequests: (place: Element, options?: DeviceRequestsOptions) => Promise<() => void>;

  /**
   * Passes the provider's answer to the page that began the sign-in, and removes it from the address. For the page at
   * `redirectUri`. An answer that was used before does nothing if the user is signed in.
   * @throws LatchkeyError `invalid_state` if it belongs to no sign-in of this browser; `no_browser` without a page
   *
   * @example
   * latchkey.handleCallback().catch(({ code }) => document.body.append(`Signing in did not work (${code}).`));
   */
  readonly handleCallback: () => Promise<void>;

  /**
   * Returns a valid access token, refreshed if it is due. Send it as `Authorization: Bearer …`, as `fetch` does.
   * @throws LatchkeyError `signed_out` if no user is signed in, another user signed in, or the refresh was rejected; another code
   *   if the token has expired and the service cannot be reached: the session stays, try again later
   *
   * @example
   * axios.defaults.headers.common.Authorization = `Bearer ${await latchkey.accessToken()}`;
   */
  readonly accessToken: () => Promise<string>;

  /**
   * Calls the browser's `fetch`, with `Authorization: Bearer …` for the service's origin and `fetchOrigins` only. As with
   * `fetch`, an answer of any status resolves. If the API asks for a newer sign-in (RFC 9470), the dialog asks the user, and the request
   * is repeated once; otherwise the API's answer is returned.
   * @throws LatchkeyError `network` without an answer, or the error of `accessToken`; the reason of your own signal
   *
   * @example
   * const orders = await (await latchkey.fetch('/api/orders')).json();
   */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

  /**
   * Opens the user's channel, which delivers the pushes of your API; resolves once it is connected, however long that takes. There
   * is one channel: another call returns it. It reconnects until the session ends.
   * @param options the last event that you have; later connections resume automatically
   * @throws LatchkeyError `signed_out` without a session, or if it ends before; `missing_peer` without a WebSocket (Node.js before
   *   22); `network` if the channel's code cannot be loaded
   *
   * @example
   * const channel = await latchkey.connect();
   * const stop = channel.on('order.shipped', (order) => show(order));
   */
  readonly connect: (options?: ConnectOptions) => Promise<Channel<Events>>;

  /**
   * Signs out this device (`current`, default), every other one (`others`), or `all`. `current` and `all` end the session in all
   * tabs at once, even if the service cannot be reached. With `provider`, the provider's session ends as well, if the provider has
   * an address for it: the browser goes there.
   * @throws LatchkeyError if the service cannot be reached. The user is signed out in this browser nevertheless
   *
   * @example
   * await latchkey.signOut('all');
   */
  readonly signOut: (scope?: SignOutScope | SignOutOptions) => Promise<void>;

  /** Asks the service for the user, with the data of the last sign-in. Updates `session`. */
  readonly me: () => Promise<User>;

  /**
   * Lists the user's devices, newest use first. Concurrent calls share a request for each 100 devices. `online` of this device is
   * the state of this client's channel, if there is one.
   *
   * @example
   * const others = (await latchkey.devices()).filter(({ current }) => !current);
   */
  readonly devices: () => Promise<Device[]>;
  /** Renames a device, and returns it. The user's devices get `device.renamed`. */
  readonly renameDevice: (deviceId: string, name: string) => Promise<Device>;
  /** Signs a device out, and removes it from the list. */
  readonly removeDevice: (deviceId: string) => Promise<void>;

  /**
   * Lists the programs that a provider allows, and that stay away since the user or the support has ended them; the latest end first.
   * @throws LatchkeyError `method_not_allowed` if no provider of the service has `id_jag`
   */
  readonly refusedPrograms: () => Promise<RefusedProgram[]>;
  /**
   * Lets such a program act for the user again, as soon as the provider allows it the next time.
   * @throws LatchkeyError `not_found` if it need not stay away
   *
   * @example
   * for (const { device_id } of await latchkey.refusedPrograms()) await latchkey.allowProgram(device_id);
   */
  readonly allowProgram: (deviceId: string) => Promise<void>;

  /**
   * Lists the devices without a browser that ask to be signed in as the user (`DEVICE_GRANT=push`), newest first. The channel's event
   * `device.requested` reports a new one.
   */
  readonly deviceRequests: () => Promise<DeviceRequest[]>;
  /**
   * Approves or denies the request of a device. If the service wants a newer sign-in, the dialog asks for it first.
   * @param code that the device shows, or `request_id` of a request in the list
   * @param number that the device shows, to approve a request of the list; a wrong one denies it
   * @throws LatchkeyError `not_found` if it was decided or has expired; `access_denied` for a wrong number
   *
   * @example
   * await latchkey.decideDeviceRequest('BDFH-JLNP', true);
   */
  readonly decideDeviceRequest: (code: string, approve: boolean, number?: string) => Promise<void>;

  /** Lists the accounts by which the user may sign in: their own, then accounts of other providers. The channel's event `identities.changed` reports a change. */
  readonly identities: () => Promise<Identities>;
  /**
   * Lets the user join an account of another provider to their own, which the provider's setting `links` has to allow. Shows the
   * provider's page as `signIn()` does: call it from a click. With mode `redirect`, `linked` has the outcome when the page is loaded again.
   * If the service wants a newer sign-in, the dialog asks for it first.
   * @throws LatchkeyError `identity_in_use` if the account has signed in as another user: with `identity` and `mergeToken`, if that user
   *   could become part of this one; `cancelled` if the user closes the dialog; `access_denied`
   *
   * @example
   * button.onclick = () => latchkey.link('github').then(show, (error) => error.mergeToken && ask(error));
   */
  readonly link: (provider: string) => Promise<Identity>;
  /** Outcome of the `link()` for which the browser left this page; undefined if there was none. */
  readonly linked: Promise<Identity> | undefined;
  /**
   * Parts an account of a provider from the user's own. Its sessions end.
   * @throws LatchkeyError `not_found`; `access_denied` for the user's own account
   */
  readonly unlink: (provider: string) => Promise<void>;
  /**
   * Makes another user part of this one, for good: their sessions end, and your application has to move their data. Ask before.
   * @param mergeToken of an error `identity_in_use`
   * @returns id of the former user
   * @throws LatchkeyError `invalid_grant` if the token has expired; `access_denied` if that user may not be merged
   */
  readonly mergeUser: (mergeToken: string) => Promise<string>;

  /**
   * Shows the accounts by which the user may sign in, with buttons to connect and disconnect, in an element, in place of its content. In
   * the client's language; the CSS custom properties of the dialog style it. Empty while no user is signed in.
   * @returns a function that removes it
   * @throws LatchkeyError `network` if its code cannot be loaded; `no_browser` without a page
   *
   * @example
   * latchkey.showIdentities(document.querySelector('#identities'));
   */
  readonly showIdentities: (place: Element, options?: IdentitiesOptions) => Promise<() => void>;

  /** Stops timers, listeners and the channel. The session stays stored. */
  readonly close: () => void;
}
