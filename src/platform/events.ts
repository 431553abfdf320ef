import { EventEmitter } from 'node:events';
import { Global, Injectable, Module } from '@nestjs/common';
import type { ErrorCode } from './errors/oauth-error.js';

/** One sign-in of one user; `deviceId` is null if the client named no device. */
export interface SessionIds {
  readonly userId: string;
  readonly sessionId: string;
  readonly deviceId: string | null;
}

/** Why a session was signed out, other than by a person. Features add causes. @public */
export interface EndCauses extends Record<
  'idle' | 'too_many' | 'not_allowed' | 'provider_ended' | 'suspended' | 'removed' | 'replaced',
  true
> {}

export type EndCause = keyof EndCauses;

export interface EndedSession extends SessionIds {
  readonly endedAt: Date;
  /** Null: a person signed out. */
  readonly cause: EndCause | null;
  /** When its last token expires at the latest. */
  readonly until: Date;
}

export interface ChangedClaims {
  readonly userId: string;
  /** The claims now, JSON by name. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly changedAt: Date;
  /** When the last token that was issued before expires at the latest. */
  readonly until: Date;
}

/** Claims of a user who was removed: they are no longer those of the id. */
export interface VoidedClaims {
  readonly userId: string;
  readonly voidedAt: Date;
  /** When the last token that was issued before expires at the latest. */
  readonly until: Date;
}

/** Event of the audit trail on the instance that recorded it; these members, and others that are logged. */
export interface RecordedEvent {
  readonly id: string;
  readonly event: string;
  readonly result: 'ok' | 'refused';
  readonly error?: string | undefined;
  readonly provider?: string | undefined;
  readonly user_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly device_id?: string | undefined;
  readonly actor: { readonly type: string };
}

/** Why a client ended its session. */
export type RevokeReason = 'user' | 'key_lost' | 'storage_lost' | 'replaced';

/** An event on a user's channel (docs/realtime.md#what-the-service-sends). */
export interface ChannelEvent {
  readonly id: string;
  readonly userId: string;
  /** Null: for all devices of the user. */
  readonly deviceId: string | null;
  /** Number in the user's history; null: not kept (`ttl` 0). */
  readonly offset: number | null;
  readonly event: string;
  readonly data: unknown;
  /** RFC 3339, UTC, with milliseconds. */
  readonly sentAt: string;
}

/** State for metrics (state-metrics.ts). Features add members, which their `gauges` describe. */
export interface ServiceState {
  readonly sockets: number;
  readonly connectedUsers: number;
  readonly handshakesWaiting: number;
  readonly transportsWaiting: number;
  readonly historyReadsWaiting: number;
  readonly deliveries: number;
  readonly hintsUnsent: number;
  readonly hintsArrive: boolean;
  readonly endedSessionStreams: number;
  /** Seconds. */
  readonly webhookDelay: number;
  readonly webhookEventsSetAside: number;
  readonly auditEventsLeftOut: number;
  /** When the signing key becomes active; milliseconds since the epoch. */
  readonly signingKeyActiveAt: number;
}

/** Events between modules, from a lower layer to a higher one. Emitted on one instance, unless noted. */
export interface DomainEvents {
  /** A refresh, or a request with an access token. On the hot path: listeners must be cheap. */
  'session.used': [SessionIds];
  /** A session was signed out. Emitted on every instance within 1 s. */
  'session.ended': [EndedSession];
  /** A user's claims have changed. Emitted on every instance within 1 s; of several changes the last. */
  'claims.changed': [ChangedClaims];
  /** A user with changed claims was removed. Emitted on every instance within 1 s. */
  'claims.voided': [VoidedClaims];
  /** Ended sessions and changed claims were read. `cursor`: where feeds begin; null until all are read. */
  'sessions.read': [{ readonly cursor: string | null }];
  /** Audit events were committed, or something was refused. In a flood of refusals on the hot path. */
  'audit.recorded': [readonly RecordedEvent[]];
  /** Events were committed together, or have `ttl` 0; those of a user in their order. */
  'channel.appended': [readonly ChannelEvent[]];
  /** A signing key was revoked. Emitted on every instance, when it begins to reject the key's tokens. */
  'key.revoked': [{ readonly kid: string }];
  /** An address or user has reached a limit. Emitted once a minute and limit. */
  'rate_limit.exceeded': [
    { readonly limit: string } & ({ readonly address: string } | { readonly userId: string }),
  ];
  /** A request has ended. On the hot path. */
  'request.ended': [
    {
      readonly method: string;
      /** Template (`/devices/:device_id`); undefined if no route matches. */
      readonly route: string | undefined;
      readonly status: number;
      /** False if the connection closed before the response was complete. */
      readonly answered: boolean;
      readonly seconds: number;
    },
  ];
  /** The head of a request was malformed, too long or too slow. */
  'request.unreadable': [];
  /** A call to a provider has ended; `error` is the code of our answer. */
  'provider.called': [
    {
      readonly provider: string;
      readonly operation: ProviderOperation;
      readonly error: ErrorCode | undefined;
      readonly seconds: number;
    },
  ];
  /** Concurrent calls were batched into one statement (platform/database/batching.ts). On the hot path. */
  'statement.batched': [{ readonly name: string; readonly calls: number; readonly seconds: number }];
  /** A socket was admitted, or refused with `error`. */
  'handshake.finished': [{ readonly error: ErrorCode | undefined }];
  /** A socket has closed; `reason` as in docs/realtime.md#what-the-service-sends, or `client`. */
  'socket.closed': [{ readonly reason: string }];
  /** A page of a history was read for sockets; the seconds include the time in the queue. */
  'history.read': [{ readonly events: number; readonly seconds: number }];
  /** A notification to other instances was sent, or failed. */
  'notification.sent': [{ readonly ok: boolean }];
  /** A notification of another instance has arrived; `doubtful`: without our signature. */
  'notification.received': [{ readonly kind: 'event' | 'offset' | 'doubtful' }];
  /** Expired rows of a table were removed, or the removal has failed. */
  'removal.done': [
    { readonly table: string; readonly removed: number; readonly ok: boolean; readonly seconds: number },
  ];
  /** Metrics are collected: each listener calls the given function with its state, synchronously. */
  'state.requested': [(state: Partial<ServiceState>) => void];
  /** Metrics are collected: listeners call the given function with a count that the database makes. */
  'total.requested': [(name: Total, count: Promise<number>) => void];
}

/** Count of all instances together. */
export type Total = 'users' | 'live_sessions';

export type ProviderOperation = 'authorize' | 'issuer' | 'exchange' | 'refresh' | 'logout';

@Injectable()
export class Events extends EventEmitter<DomainEvents> {}

@Global()
@Module({ providers: [Events], exports: [Events] })
export class EventsModule {}
