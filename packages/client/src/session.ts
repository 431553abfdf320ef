import type { Profile } from './profile.js';

/**
 * Who is signed in here. The same object until something in it changes, so it can be compared with `===`, and given to
 * React's `useSyncExternalStore` as it is. Holds no token.
 */
export interface Session extends Profile {
  /** The user's id in the service: what an access token has as `sub`. */
  readonly userId: string;
  /** This browser's id in the user's list of devices. */
  readonly deviceId: string;
  /** When the access token ends, by this device's clock, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /**
   * Whether it can be refreshed in this browser only, because it is bound to a key that no script can take away. False where the
   * browser cannot keep such a key; everything else works the same.
   */
  readonly bound: boolean;
}

/**
 * Why a session has ended here.
 * - `user`: `signOut()` was called in this browser
 * - `signed_out`: the service ended it, mostly because it was signed out on another device
 * - `refused`: a refresh was answered by 400 (but not for its proof) or 401, or a fresh token was refused by the channel
 * - `key_lost`: the key that it is bound to is not in this browser: the tokens were copied, or the browser has removed the key
 * - `expired`: the refresh token's life is over, and the service could not be reached
 */
export type EndReason = 'user' | 'signed_out' | 'refused' | 'key_lost' | 'expired';

/** How a session has ended. */
export interface SignedOut {
  readonly reason: EndReason;
  /** A sentence for the user, in the client's language. Empty for `user`. */
  readonly message: string;
}

/**
 * One step of a sign-in: asking the service where to go, the provider's page, its answer, the exchange for tokens. The last is
 * `signed-in`, or `failed`.
 */
export type SignInStep = 'authorize' | 'provider' | 'callback' | 'exchange' | 'signed-in' | 'failed';

/** A call to the service that has been answered, or has failed. Holds no secret: no query, no body. */
export interface ServiceCall {
  readonly method: string;
  readonly path: string;
  /** Undefined when there was no answer. */
  readonly status?: number;
  /** Milliseconds. */
  readonly duration: number;
}

/** What `on` can listen to, and what its handlers get. */
export interface ClientEvents {
  /** Signed in, refreshed, or signed out: in this tab or in another. */
  change: Session | undefined;
  /** Once for each session that ends, in each tab. */
  signedOut: SignedOut;
  /** A sign-in has reached its next step. */
  progress: SignInStep;
  /** The client has called one of the service's endpoints. */
  request: ServiceCall;
}
