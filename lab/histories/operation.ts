import type { Fault } from '../world/faults.js';

/**
 * What a history consists of, one JSON object a line. All times are milliseconds of `performance.now()` in the process of the
 * test. Tokens are named by their claims, states and codes by their beginning: a history holds no secret.
 */
export type HistoryEntry = Operation | Fault | Stall | Exchange | Stored | StoredEnd | Sample | Rows;

/** The client that looks, when everything is whole again, for what was acknowledged. */
export const FINAL = 'final';

/** What clients have done, and what came to them. */
export type Operation =
  | Authorize
  | SignIn
  | Refresh
  | Use
  | SignOut
  | Rename
  | Push
  | KeyChange
  | OfChannel
  | ClaimsChange
  | FeedEvent
  | Merge
  | Consent
  | Trespass;
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
  /** The answer has `Retry-After`: the database is away. */
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
  /** Of the session, if it may end early: `refresh_token_expires_in` and `idle_expires_in`. */
  readonly sessionExpiresIn?: number;
  readonly idleExpiresIn?: number;
  readonly audience: string;
  readonly claims: ClaimsNumber;
}

/** The change that has set a user's claims, as they were read: 0 without claims, -1 for a mixture of changes (claims.ts). */
export type ClaimsNumber = number;

interface Authorize extends Call {
  readonly kind: 'authorize';
  readonly state?: string;
}

/** Exchange of a code: that of a provider, or that of a program. */
export interface SignIn extends Call {
  readonly kind: 'sign-in';
  /** Of a program: its `code`. */
  readonly state: string;
  /** The user's name at the provider, a full stop, and what makes it another one. */
  readonly code: string;
  readonly device: string | null;
  readonly user?: string;
  readonly issued?: Issued;
  /** `client_id` of a program that the user has allowed, and when that began. */
  readonly program?: string;
  readonly since?: number;
}

export interface Refresh extends Call {
  readonly kind: 'refresh';
  readonly session: string;
  /** Reported `idle_for`. */
  readonly idleFor?: number;
  readonly issued?: Issued;
}

/** `GET /me`, introspection, or `verify()` of `@latchkey/server` in an API. An inactive token counts as refused. */
export interface Use extends Call {
  readonly kind: 'use' | 'introspect' | 'verify';
  readonly token: TokenName;
  /** User in the answer. */
  readonly user?: string;
  readonly claims?: ClaimsNumber;
}

export interface SignOut extends Call {
  readonly kind: 'sign-out';
  /** `consent`: a new session of a program. `operator`: the end of a program for all users, once for each. */
  readonly by: 'user' | 'revoke' | 'service' | 'removal' | 'merge' | 'consent' | 'operator';
  /** Which sessions of the user: as in src/token/sessions/session.store.ts. */
  readonly scope: 'session' | 'device' | 'others' | 'all';
  readonly user: string;
  /** Of `consent`: the new one, which does not end. */
  readonly session: string | null;
  readonly device: string | null;
  /** The caller's; only `user` and `removal` have one. */
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
  /** In the answer: the user whom the addressee is part of. */
  readonly mergedInto?: string;
}

/** A call of a user whom another one is to become part of (docs/guides/linking.md#two-users-who-are-one-person). */
export interface Merge extends Call {
  readonly kind: 'merge';
  /** `begin` and `prove` lead to the token of a merge. A proof is accepted only if the account is joined already. */
  readonly step: 'begin' | 'prove' | 'merge';
  /** The former user's name at the provider. */
  readonly account: string;
  readonly former: string;
  /** The caller. */
  readonly into: string;
  readonly token: TokenName;
}

/** A person allows a program in a browser (docs/agents.md#the-question): from the first page to the program's code. */
export interface Consent extends Call {
  readonly kind: 'consent';
  /** Of the provider. */
  readonly code: string;
}

/** A program shows its token where only tokens of the application are accepted. */
export interface Trespass extends Call {
  readonly kind: 'trespass';
  readonly at: '/me' | '/oauth2/refresh' | 'socket';
  readonly token: TokenName;
}

export interface KeyChange extends Call {
  readonly kind: 'key';
  readonly change: 'rotate' | 'revoke';
  readonly kid?: string;
}

/** `PUT /users/:user_id/claims`. */
export interface ClaimsChange extends Call {
  readonly kind: 'claims';
  readonly user: string;
  readonly claims: ClaimsNumber;
}

/** The first event about a session, or about claims of a user, in a reader of `GET /sessions/ended`. */
export interface FeedEvent extends Timed {
  readonly kind: 'feed';
  readonly instance: number;
  readonly user: string;
  /** Session that has ended; undefined: the claims have changed. */
  readonly session?: string;
  readonly claims?: ClaimsNumber;
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
  readonly claims?: ClaimsNumber;
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

/** A pause of the machine, by a control that does not use the service (pauses.ts). */
export interface Stall extends Span {
  readonly kind: 'stall';
  readonly of: 'this process' | 'another process' | 'a commit';
}

/** What an instance uses. */
export interface Sample extends Span {
  readonly kind: 'sample';
  /** Before the first client, in the part without faults, or after the last client. */
  readonly when: 'idle' | 'level' | 'end';
  readonly instance: number;
  readonly pid: number;
  /** Resident memory, MiB. */
  readonly memory: number;
  readonly files: number;
  readonly sockets: number;
}

/** Numbers of rows at the end. */
export interface Rows extends Span {
  readonly kind: 'rows';
  readonly open_sessions: number;
  readonly access_tokens: number;
  readonly devices: number;
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
  readonly claims?: ClaimsNumber;
  /** Of a device that was renamed. */
  readonly name?: string;
  /** What an event of the service itself says of a device. */
  readonly of?: { readonly device: string; readonly name: string | null };
}

/** The idle end of a session that was in the database at the end. */
export interface StoredEnd extends Span {
  readonly kind: 'stored-end';
  readonly session: string;
  readonly at: number;
}
