/** A device in the user's list: a browser, or an application, that somebody has signed in on. Times are RFC 3339. */
export interface Device {
  /** Made by the device itself; the same at each of its sign-ins. */
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  /** To the minute. */
  readonly last_seen_at: string;
  /** Whether it is the one that asks. */
  readonly current: boolean;
  /** Whether it has a session that lives. */
  readonly signed_in: boolean;
  /** Whether its channel is connected. Of other devices it may be a minute old. */
  readonly online: boolean;
}

/** Who is signed in. What the provider does not tell is null. */
export interface User {
  readonly user_id: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly created_at: string;
}

/** Whom `signOut` signs out: this device, every other one, or both. */
export type SignOutScope = 'current' | 'others' | 'all';

/** For a sign-out at the provider as well. */
export interface SignOutOptions {
  /** Default `current`. The provider has no part in signing out `others`. */
  readonly scope?: Exclude<SignOutScope, 'others'> | undefined;
  /** Whether to end the session at the provider as well: the browser leaves the page for the provider's, if it has one. */
  readonly provider?: boolean | undefined;
  /** Where the provider sends the user then: an address that it knows; may be relative to the page. Default: `/`. */
  readonly redirectUri?: string | undefined;
}
