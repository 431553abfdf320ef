// What the service answers, as far as the page shows it. Times are RFC 3339.

/** What the signed-in person may do: `users` includes `support`. */
type Right = 'users' | 'support';

export interface AdminSession {
  readonly user_id: string;
  readonly username: string | null;
  readonly right: Right | null;
  readonly admin_role: string;
  readonly support_role: string;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface User {
  readonly user_id: string;
  readonly provider: string;
  readonly provider_user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly claims: Claims;
  readonly suspended_at: string | null;
  readonly created_at: string;
  readonly last_seen_at: string | null;
  readonly online: boolean;
  readonly live_sessions: number;
}

/** Removed user whose sign-ins are refused. */
export interface RemovedUser {
  readonly user_id: string;
  readonly removed_at: string;
}

/** `GET /users/:user_id`: with the first hundred devices and sessions. */
export interface UserDetail extends User {
  readonly devices: readonly Device[];
  readonly sessions: readonly Session[];
}

export interface Device {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly browser: string | null;
  readonly os: string | null;
  readonly address: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly signed_in: boolean;
  readonly online: boolean;
}

export interface Session {
  readonly session_id: string;
  readonly device_id: string | null;
  readonly provider: string;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  readonly bound: boolean;
  readonly auth_time: string | null;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly browser: string | null;
  readonly os: string | null;
  readonly online: boolean;
}

/** Claims of a user by source, and what results from them. */
export interface UserClaims {
  readonly claims: Claims;
  readonly provider_claims: Claims;
  readonly effective: Claims;
}

export type { AuditEvent } from '../../../packages/server/src/calls/audit-event.js';

/** Sign-ins of an hour; null: not counted yet. */
export interface Hour {
  readonly hour: string;
  readonly sign_ins: number | null;
  readonly refusals: number | null;
}

export interface Overview {
  /** The last 168, oldest first. */
  readonly hours: readonly Hour[];
  /** Of the last 24 hours, most frequent first. */
  readonly refusals: readonly { readonly error: string; readonly count: number }[];
  readonly users: number;
  readonly users_online: number;
  readonly live_sessions: number;
  readonly providers: readonly ProviderHealth[];
}

export interface ProviderHealth extends OfferedProvider {
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
}

/** A provider as `GET /oauth2/providers` lists it. */
export interface OfferedProvider {
  readonly name: string;
  readonly label: string;
}

export interface Provider extends OfferedProvider {
  readonly adapter: string;
  readonly url: string | null;
  readonly mode: string;
  readonly redirect_uris: readonly string[];
  readonly is_sample: boolean;
}

/** Result of a test sign-in. */
export interface TestResult {
  readonly identity: Pick<User, 'provider_user_id' | 'username' | 'email' | 'avatar_url'> | null;
  readonly error?: string;
  readonly reason?: string;
  readonly claims_received: Claims | null;
  readonly claims_kept: Claims;
  readonly claims_dropped: readonly { readonly name: string; readonly why: string }[];
}

/** A page of a list; it may have fewer entries than asked for, even none, although there are more. */
export interface Page {
  readonly next_cursor?: string;
}
