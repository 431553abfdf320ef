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
 */
export type EndReason = 'user' | 'signed_out' | 'refused' | 'key_lost' | 'expired';

/** The end of a session. */
export interface SignedOut {
  readonly reason: EndReason;
  /** A sentence for the user, in the client's language. Empty for `user`. */
  readonly message: string;
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
  /** A sign-in has reached its next step. */
  progress: SignInStep;
  /** The client has called an endpoint of the service. */
  request: ServiceCall;
}
