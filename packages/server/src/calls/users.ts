import { checkNames } from '../option-names.js';
import { pagesOf, type Pages } from './pages.js';
import type { ServiceCalls } from './service-calls.js';
import type { Right } from './service-key.js';
import type {
  ClaimsOfUser,
  ClaimValues,
  DeviceOfUser,
  DevicesPage,
  RemovedUser,
  RemovedUsersPage,
  SessionOfUser,
  SessionsPage,
  User,
  UserDetail,
  UsersPage,
} from './user.js';

/** Which users to find: all conditions have to be met. */
export interface UserQuery {
  /** Beginnings of words of the name or of the e-mail address, in any case and order; or a whole id. */
  readonly q?: string | undefined;
  readonly email?: string | undefined;
  readonly provider?: string | undefined;
  /** The provider's id; needs `provider`. */
  readonly providerUserId?: string | undefined;
  readonly role?: string | undefined;
  readonly suspended?: boolean | undefined;
  /** What the directory of the provider says of the user. */
  readonly directory?: 'active' | 'inactive' | 'none' | undefined;
  /** Users of a page, 200 at most. Default 50. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

const NEW_USER = { provider: true, providerUserId: true, username: true, email: true, claims: true } as const;

const QUERY = {
  q: true,
  email: true,
  provider: true,
  providerUserId: true,
  role: true,
  suspended: true,
  directory: true,
  limit: true,
  cursor: true,
} as const;

/** A user who has not signed in yet: who they are at the provider, and what is known of them. */
export interface NewUser {
  /** Name of a configured provider. */
  readonly provider: string;
  /** The provider's id, exactly as it will send it. */
  readonly providerUserId: string;
  /** The first sign-in replaces both. */
  readonly username?: string | undefined;
  readonly email?: string | undefined;
  /** Claims of the application, as `setClaims()` takes them. */
  readonly claims?: ClaimValues | undefined;
}

/** A user by the service's id (`claims.sub`), by the provider's id, or by an e-mail address that only one user has. */
export type UserToSignOut =
  | string
  | { readonly provider: string; readonly providerUserId: string }
  | { readonly email: string };

/**
 * The users of the service. Calls may be repeated. All of them reject with a LatchkeyError: `not_found` for an unknown user,
 * `invalid_request`, `temporarily_unavailable`, `service_key_refused`.
 */
export class Users {
  constructor(private readonly calls: ServiceCalls) {}

  /**
   * Finds users, newest first; with `q` or `email` by name and e-mail address. `await` returns a page, `for await` goes through all of
   * them. Needs the right `support`.
   * @throws LatchkeyError `invalid_request` for an unknown cursor
   *
   * @example
   * const { users, next_cursor } = await latchkey.users.find({ q: 'ada' });
   * for await (const user of latchkey.users.find({ role: 'admin' })) console.log(user.email);
   */
  find(query: UserQuery = {}): Pages<UsersPage, User> {
    checkNames('users.find()', query, QUERY);
    const { providerUserId, ...others } = query;
    const conditions = { ...others, provider_user_id: providerUserId };
    return pagesOf(this.calls, '/users', 'support', conditions, ({ users }: UsersPage) => users);
  }

  /**
   * Creates a user before the first sign-in. A user who exists is returned unchanged, with other claims, too. Needs the right `users`.
   * @throws LatchkeyError `invalid_request` for an unknown provider and unusable claims; `access_denied` for a removed user who is kept out
   *
   * @example
   * const { user_id } = await latchkey.users.create({ provider: 'google', providerUserId, claims: { plan: 'pro' } });
   */
  async create(user: NewUser): Promise<User> {
    checkNames('users.create()', user, NEW_USER);
    const { providerUserId: provider_user_id, ...others } = user;
    return this.call('POST', '/users', 'users', { ...others, provider_user_id });
  }

  /**
   * Returns a user with the devices and sessions that were used last. Needs the right `support`.
   *
   * @example
   * const { email, suspended_at, devices } = await latchkey.users.get(userId);
   */
  get(userId: string): Promise<UserDetail> {
    return this.call('GET', pathOf(userId), 'support');
  }

  /**
   * Lists a user's devices, newest use first, 100 a page. Needs the right `support`.
   * @param options `cursor`: `next_cursor` of the page before
   *
   * @example
   * for await (const { browser, os } of latchkey.users.devices(userId)) console.log(browser, os);
   */
  devices(userId: string, options: { readonly cursor?: string } = {}): Pages<DevicesPage, DeviceOfUser> {
    checkNames('users.devices()', options, { cursor: true });
    const path = pathOf(userId, '/devices');
    return pagesOf(this.calls, path, 'support', { ...options }, ({ devices }: DevicesPage) => devices);
  }

  /**
   * Lists a user's live sessions, newest use first, 100 a page. Needs the right `support`.
   * @param options `cursor`: `next_cursor` of the page before
   *
   * @example
   * const { sessions } = await latchkey.users.sessions(userId);
   */
  sessions(userId: string, options: { readonly cursor?: string } = {}): Pages<SessionsPage, SessionOfUser> {
    checkNames('users.sessions()', options, { cursor: true });
    const path = pathOf(userId, '/sessions');
    return pagesOf(this.calls, path, 'support', { ...options }, ({ sessions }: SessionsPage) => sessions);
  }

  /**
   * Ends all sessions of a user, or those of one device, or one session. Needs the right `support`.
   * @param options only with the service's id of the user
   * @returns the number of sessions that were live
   * @throws LatchkeyError `not_found` for an unknown user or device; `invalid_request` for an e-mail address of several users.
   *   TypeError for a `deviceId` or `sessionId` that is undefined: it would end all sessions
   *
   * @example
   * await latchkey.users.signOut(claims.sub);
   * await latchkey.users.signOut(claims.sub, { deviceId });
   * const { sessions } = await latchkey.users.signOut({ email: 'ada@example.com' });
   */
  async signOut(
    user: UserToSignOut,
    options: { readonly deviceId?: string; readonly sessionId?: string } = {},
  ): Promise<{ readonly sessions: number }> {
    checkNames('users.signOut()', options, { deviceId: true, sessionId: true });
    for (const [name, id] of Object.entries(options))
      if (typeof id !== 'string')
        throw new TypeError(`${name} is no text: leave it out to sign the user out everywhere`);
    const { deviceId: device_id, sessionId: session_id } = options;
    if (typeof user === 'string')
      return this.call('POST', pathOf(user, '/sign-out'), 'support', { device_id, session_id });
    if (Object.keys(options).length > 0) throw new TypeError('a device or session needs the id of the user');
    checkNames('users.signOut()', user, { email: true, provider: true, providerUserId: true });
    const { email, provider, providerUserId } = user as Partial<Record<string, string>>;
    const body = { email, provider, provider_user_id: providerUserId };
    return this.call('POST', '/users/sign-out', 'support', body);
  }

  /**
   * Suspends a user: all sessions end, and sign-ins are rejected until `restore()`. Needs the right `users`.
   *
   * @example
   * await latchkey.users.suspend(userId);
   */
  suspend(userId: string): Promise<User> {
    return this.call('PATCH', pathOf(userId), 'users', { suspended: true });
  }

  /**
   * Lets a suspended user sign in again, also one of `removed()`. Needs the right `users`.
   * @returns the user; undefined for a removed one
   *
   * @example
   * await latchkey.users.restore(userId);
   */
  restore(userId: string): Promise<User | undefined> {
    return this.call('PATCH', pathOf(userId), 'users', { suspended: false });
  }

  /**
   * Returns a user's claims by their source. Needs the right `users`.
   *
   * @example
   * const { effective } = await latchkey.users.claims(userId);
   */
  claims(userId: string): Promise<ClaimsOfUser> {
    return this.call('GET', pathOf(userId, '/claims'), 'users');
  }

  /**
   * Replaces the claims that the application has set; `{}` removes them. Within a second the user's devices and all APIs have the new
   * ones. Needs the right `users`.
   * @throws LatchkeyError `invalid_request` for too many or too long claims, and for reserved names
   *
   * @example
   * await latchkey.users.setClaims(userId, { roles: ['admin'], plan: 'pro' });
   */
  setClaims(userId: string, claims: ClaimValues): Promise<ClaimsOfUser> {
    return this.call('PUT', pathOf(userId, '/claims'), 'users', { claims });
  }

  /**
   * Ends the sessions of a user, then removes the user with devices and events. The audit trail keeps the id; if the user was suspended,
   * sign-ins stay refused until `restore()`. Needs the right `users`.
   * @throws LatchkeyError `not_found` for an unknown user, and for one that was removed before
   *
   * @example
   * await latchkey.users.remove(userId);
   */
  remove(userId: string): Promise<void> {
    return this.call('DELETE', pathOf(userId), 'users');
  }

  /**
   * Lists the removed users whose sign-ins are refused, since they were suspended; latest removal first. Needs the right `users`.
   * @param options `cursor`: `next_cursor` of the page before
   *
   * @example
   * for await (const { user_id } of latchkey.users.removed()) await latchkey.users.restore(user_id);
   */
  removed(options: { readonly cursor?: string } = {}): Pages<RemovedUsersPage, RemovedUser> {
    return pagesOf(
      this.calls,
      '/users/removed',
      'users',
      { ...options },
      ({ users }: RemovedUsersPage) => users,
    );
  }

  private call<Answer>(method: Method, path: string, right: Right, body?: object): Promise<Answer> {
    return this.calls.send(path, { method, right, isRepeatable: true, ...(body && { body }) });
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

function pathOf(userId: string, rest = ''): string {
  return `/users/${encodeURIComponent(userId)}${rest}`;
}
