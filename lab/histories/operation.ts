/**
 * What a history consists of, one JSON object a line. All times are milliseconds of `performance.now()` in the process of the
 * test. Tokens are named by their claims, states and codes by their beginning: a history holds no secret.
 */
export type HistoryEntry = Operation | FaultEntry | Stall | Exchange | Stored;

/** What clients have done, and what came to them. */
export type Operation =
  Authorize | SignIn | Refresh | Use | SignOut | Rename | Push | KeyChange | OfChannel | ClaimsCall;
type OfChannel = Connect | Receive | Closed;

/**
 * `refused`: 4xx, so that nothing was done, for certain. `unknown`: 5xx or no answer, so that it may have been done, or may still
 * be done.
 */
export type Outcome = 'ok' | 'refused' | 'unknown';

interface Span {
  readonly begun: number;
  readonly ended: number;
}

interface Timed extends Span {
  /** Who did it: a client does one thing after the other. */
  readonly client: string;
}

/** A call, and its answer. */
export interface Call extends Timed {
  /** The place of the instance among `World.urls`; -1: none, a command run against the database. */
  readonly instance: number;
  readonly outcome: Outcome;
  readonly status?: number;
  /** The `error` of the answer, or the code of a network error. */
  readonly error?: string;
  /** The answer says when to try again: the database is away. */
  readonly retryAfter?: boolean;
}

/** An access token, by its claims. */
export interface TokenName {
  readonly session: string;
  readonly jti: string;
  readonly kid: string;
}

export interface Holder {
  readonly user: string;
  readonly device: string | null;
  readonly session: string;
}

export interface Issued extends TokenName, Holder {
  /** Seconds. */
  readonly expiresIn: number;
}

interface Authorize extends Call {
  readonly kind: 'authorize';
  readonly state?: string;
}

export interface SignIn extends Call {
  readonly kind: 'sign-in';
  readonly state: string;
  /** The user's name at the provider, a full stop, and what makes it another one. */
  readonly code: string;
  readonly device: string | null;
  readonly user?: string;
  readonly issued?: Issued;
}

export interface Refresh extends Call {
  readonly kind: 'refresh';
  readonly session: string;
  readonly issued?: Issued;
}

/** `GET /me`. */
export interface Use extends Call {
  readonly kind: 'use';
  readonly token: TokenName;
  /** Whom the answer is about. */
  readonly user?: string;
}

export interface SignOut extends Call {
  readonly kind: 'sign-out';
  readonly by: 'user' | 'revoke' | 'service' | 'removal';
  /** Which sessions of the user: as in src/token/sessions/session.store.ts. */
  readonly scope: 'session' | 'device' | 'others' | 'all';
  readonly user: string;
  readonly session: string | null;
  readonly device: string | null;
  /** The caller's; `revoke` and `service` have none. */
  readonly token?: TokenName;
}

interface Rename extends Call {
  readonly kind: 'rename';
  readonly user: string;
  readonly device: string;
  /** Another one each time. */
  readonly name: string;
  readonly token: TokenName;
}

export interface Push extends Call {
  readonly kind: 'push';
  readonly user: string;
  readonly device: string | null;
  readonly ttl?: number;
  readonly n: string;
  readonly key?: string;
  readonly id?: string;
  readonly offset?: number | null;
}

export interface KeyChange extends Call {
  readonly kind: 'key';
  readonly change: 'rotate' | 'revoke';
  readonly kid?: string;
}

/** `PUT /users/:user_id/claims`, or another call whose answer has a user's claims. */
export interface ClaimsCall extends Call {
  readonly kind: 'claims';
  readonly at: 'PUT' | 'API 1' | 'API 2' | 'refresh' | '/me' | 'introspection';
  readonly user: string;
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A handshake, until `ready` came. */
export interface Connect extends Call {
  readonly kind: 'connect';
  readonly socket: number;
  readonly user: string;
  readonly device: string | null;
  readonly token: TokenName;
  /** With which offset the client came; undefined: it had none. */
  readonly from?: number;
  readonly offset?: number;
  readonly recovered?: boolean;
  /** What `ready` says that it is. */
  readonly holder?: Holder;
}

/** An event that came to a socket. */
export interface Receive extends Timed {
  readonly kind: 'receive';
  readonly socket: number;
  readonly user: string;
  readonly device: string | null;
  readonly event: string;
  readonly id: string;
  readonly offset: number | null;
  /** Of the push. */
  readonly n?: string;
  /** Of `claims.changed`. */
  readonly claims?: ClaimsCall['claims'];
}

/** A socket that was open is closed. */
export interface Closed extends Timed {
  readonly kind: 'closed';
  readonly socket: number;
  readonly instance: number;
  readonly token: TokenName;
  /** Socket.IO's reason. */
  readonly reason: string;
  /** The reason of `session.ended`, if that came first. */
  readonly told?: string;
}

/** One thing that was done to the world; `ended`: all is whole again. */
export interface FaultEntry extends Span {
  readonly kind: 'fault';
  readonly fault: string;
  readonly target: string;
}

export interface Stall extends Span {
  readonly kind: 'stall';
}

/** The provider was asked about a code. */
interface Exchange extends Span {
  readonly kind: 'exchange';
  readonly code: string;
}

/** An event that was in the database at the end. */
export interface Stored extends Span {
  readonly kind: 'stored';
  readonly user: string;
  readonly device: string | null;
  readonly event: string;
  readonly id: string;
  readonly offset: number;
  readonly at?: number;
  readonly n?: string;
  /** Of a device that was renamed. */
  readonly name?: string;
  /** What an event of the service itself says of a device. */
  readonly of?: { readonly device: string; readonly name: string | null };
}
