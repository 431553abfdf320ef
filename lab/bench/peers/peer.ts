import type { Measured } from '../turn.js';

export type PeerWorkload = 'refresh' | 'bearer' | 'sign-in';

/** What a peer is asked: requests as they are sent, one after the other, or a way of signing in. */
export type PeerScript =
  | { readonly requests: readonly string[] }
  | { readonly signIn: 'latchkey' | 'better-auth'; readonly users: number };

/** A service that is measured, and what it is asked. */
export interface Peer extends Measured {
  readonly version: string;
  readonly scripts: Partial<Record<PeerWorkload, PeerScript>>;
}
