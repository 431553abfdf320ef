import type { UserClaims } from './tokens/claims.js';

/** Data about the user, if the provider sends them. */
export interface Profile {
  readonly username?: string;
  readonly email?: string;
  readonly avatarUrl?: string;
}

/**
 * The signed-in user. The object is replaced only when something in it changes, so it can be compared with `===`, and
 * passed to React's `useSyncExternalStore`. Holds no token.
 */
export interface Session extends Profile {
  /** The user's id in the service: `sub` of an access token. */
  readonly userId: string;
  /** This browser's id in the user's list of devices. */
  readonly deviceId: string;
  /** Expiry of the access token, by this device's clock; milliseconds since the epoch. */
  readonly expiresAt: number;
  /**
   * Whether only this browser can refresh the session, because it is bound to a key that no script can export. False if the browser
   * cannot keep such a key; everything else works alike.
   */
  readonly bound: boolean;
  /**
   * The user's claims, as the access token has them: `roles`, `groups`, … Replaced only when they change: by a refresh, and at once if the
   * channel is open. They serve to show and hide things; your API has to check its own.
   */
  readonly claims: UserClaims;
}

/**
 * Why a session has ended.
 * - `user`: `signOut()` was called in this browser
 * - `signed_out`: the service ended it, mostly from another device
 * - `refused`: the service rejected a refresh (400, but not for its proof, or 401), or the channel rejected a fresh token
 * - `key_lost`: the session's key is not in this browser: the tokens were copied, or the browser removed the key
 * - `expired`: the refresh token has expired, and the service could not be reached
 * - `idle`: nobody has acted for as long as the service allows
 */
export type EndReason = 'user' | 'signed_out' | 'refused' | 'key_lost' | 'expired' | 'idle';

/**
 * Why the service has ended a session.
 * - `idle`: nobody has acted
 * - `too_many`, `replaced`: a newer session has taken its place
 * - `not_allowed`: the account may not sign in any more
 * - `provider_ended`: the identity provider has ended it
 * - `directory`, `signal`: the directory or a security signal of the company
 * - `suspended`, `removed`: the user
 */
export type EndCause =
  | 'idle'
  | 'too_many'
  | 'not_allowed'
  | 'provider_ended'
  | 'directory'
  | 'signal'
  | 'suspended'
  | 'removed'
  | 'replaced'
  | 'merged'
  | 'unlinked'
  | (string & {});

/** The end of a session. */
export interface SignedOut {
  readonly reason: EndReason;
  /** A sentence for the user, in the client's language. Empty for `user`. */
  readonly message: string;
  /** Absent after a sign-out by a person, and if no channel was open. */
  readonly cause?: EndCause;
}

/** A session is about to end, since nobody acts. */
export interface IdleNotice {
  /** When it ends unless the user acts: RFC 3339, by this device's clock. Null: the notice is over, in all tabs. */
  readonly ends_at: string | null;
}

/**
 * Step of a sign-in: the request to the service, the provider's page, its answer, the exchange for tokens. Ends with `signed-in` or
 * `failed`.
 */
export type SignInStep = 'authorize' | 'provider' | 'callback' | 'exchange' | 'signed-in' | 'failed';

/** A finished or failed call to the service. Holds no secret: no query, no body. */
export interface ServiceCall {
  readonly method: string;
  readonly path: string;
  /** Undefined without an answer. */
  readonly status?: number;
  /** Milliseconds. */
  readonly duration: number;
}

/** The events of a client, and the parameters of their handlers. */
export interface ClientEvents {
  /** Signed in, refreshed or signed out, in this tab or another. */
  change: Session | undefined;
  /** Once for each session that ends, in each tab. */
  signedOut: SignedOut;
  /** A minute is left until the session ends, since nobody acts in any tab; or no more so. */
  idle: IdleNotice;
  /** A sign-in has reached its next step. */
  progress: SignInStep;
  /** The client has called an endpoint of the service. */
  request: ServiceCall;
}
