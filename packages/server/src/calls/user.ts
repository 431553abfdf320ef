/** Claims by their names. */
export type ClaimValues = Readonly<Record<string, unknown>>;

/** A user of the service. Times are RFC 3339; data that the provider does not send are null. */
export interface User {
  readonly user_id: string;
  readonly provider: string;
  /** The provider's id of the user. */
  readonly provider_user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  /** What access tokens carry: the provider's claims and the application's. */
  readonly claims: ClaimValues;
  /** Null: the user may sign in. */
  readonly suspended_at: string | null;
  /** What the directory of the provider says; null: nothing. */
  readonly directory: { readonly active: boolean; readonly changed_at: string } | null;
  readonly created_at: string;
  /** The last use of a session, to the minute; null before the first sign-in. */
  readonly last_seen_at: string | null;
  /** Whether a device is connected to the channel; up to a minute late. */
  readonly online: boolean;
  readonly live_sessions: number;
}

/** A program of a third party that acts for a user. */
export interface AgentOfUser {
  /** Its client-ID URL, or its name in the service's `AGENTS_FILE`. */
  readonly client_id: string;
  /** What it calls itself. */
  readonly client_name: string;
  /** The API that it may use. */
  readonly resource: string;
  /** What it may do there, separated by spaces. */
  readonly scope: string;
  readonly allowed_at: string;
}

/** A browser, an application or a program in which a user has signed in. Times are RFC 3339. */
export interface DeviceOfUser {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  /** From the user agent, e.g. `Chrome 156`. */
  readonly browser: string | null;
  /** From the user agent, e.g. `Windows 10/11`. */
  readonly os: string | null;
  /** IP address of the last sign-in, as the service's `AUDIT_ADDRESSES` allows. */
  readonly address: string | null;
  readonly created_at: string;
  /** To the minute. */
  readonly last_seen_at: string;
  /** Whether it has a live session. */
  readonly signed_in: boolean;
  readonly online: boolean;
  /** Of a program of a third party. */
  readonly agent?: AgentOfUser;
}

/** A live session of a user. Times are RFC 3339. */
export interface SessionOfUser {
  readonly session_id: string;
  /** Null for a session without a device. */
  readonly device_id: string | null;
  readonly provider: string;
  readonly created_at: string;
  /** To the minute. */
  readonly last_used_at: string;
  /** When it ends, unless it is used before `idle_expires_at`. */
  readonly expires_at: string;
  /** When it ends without a use (`SESSION_IDLE_TTL`); null: never. */
  readonly idle_expires_at: string | null;
  /** Why it ends at `expires_at`: its lifetime is over, it is idle, or the provider's session ends. */
  readonly ends_because: 'lifetime' | 'idle' | 'session_expiry' | (string & {});
  /** Whether the refresh token is bound to a key of the device. */
  readonly bound: boolean;
  /** Time of the login at the provider, if known. */
  readonly auth_time: string | null;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly browser: string | null;
  readonly os: string | null;
  readonly online: boolean;
}

/** A user with the 100 devices and the 100 sessions that were used last. */
export interface UserDetail extends User {
  readonly devices: readonly DeviceOfUser[];
  readonly sessions: readonly SessionOfUser[];
}

/** A page of users, newest first. */
export interface UsersPage {
  readonly users: readonly User[];
  /** Absent on the last page. A page may have no user and a cursor. */
  readonly next_cursor?: string;
}

/** A removed user whose sign-ins are refused. */
export interface RemovedUser {
  readonly user_id: string;
  readonly removed_at: string;
}

/** A page of removed users, latest removal first. */
export interface RemovedUsersPage {
  readonly users: readonly RemovedUser[];
  /** Absent on the last page. */
  readonly next_cursor?: string;
}

/** A page of a user's devices, newest use first. */
export interface DevicesPage {
  readonly devices: readonly DeviceOfUser[];
  readonly next_cursor?: string;
}

/** A page of a user's sessions, newest use first. */
export interface SessionsPage {
  readonly sessions: readonly SessionOfUser[];
  readonly next_cursor?: string;
}

/** A user's claims by their source. */
export interface ClaimsOfUser {
  /** Claims that the application has set. */
  readonly claims: ClaimValues;
  /** Claims of the identity provider, as of the last sign-in. */
  readonly provider_claims: ClaimValues;
  /** What access tokens carry: `roles`, `groups` and `entitlements` of both; of other names the application's. */
  readonly effective: ClaimValues;
}
