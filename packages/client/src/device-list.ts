/** A device in the user's list, as the service answers it (contract §4). Times are RFC 3339. */
export interface Device {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  /** Whether it is the one that asks. */
  readonly current: boolean;
  /** Whether it has a session that lives. */
  readonly signed_in: boolean;
  readonly online: boolean;
}

/** `GET /me` (contract §4). */
export interface User {
  readonly user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly created_at: string;
}

/** Whom `signOut` signs out: this device, every other one, or both (contract §4). */
export type SignOutScope = 'current' | 'others' | 'all';

export interface SignOutOptions {
  /** Default `current`. The provider has no part in signing out `others`. */
  readonly scope?: Exclude<SignOutScope, 'others'>;
  /** Whether to end the session at the provider as well: the browser leaves the page for the provider's, if it has one. */
  readonly provider?: boolean;
  /** Where the provider sends the user then: an address that it knows; may be relative to the page. Default: `/`. */
  readonly redirectUri?: string;
}
