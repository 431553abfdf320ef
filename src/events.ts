import { EventEmitter } from 'node:events';
import { Global, Injectable, Module } from '@nestjs/common';
import type { ErrorCode } from './errors/oauth-error.js';

/** One sign-in of one user, on a device where the client named one. */
export interface Session {
  readonly userId: string;
  readonly sessionId: string;
  readonly deviceId: string | null;
}

/** A session that was signed out. */
export interface EndedSession extends Session {
  readonly endedAt: Date;
  /** After this, no token of it can be alive. */
  readonly until: Date;
}

/** An event on a user's channel (contract §7). */
export interface ChannelEvent {
  readonly id: string;
  readonly userId: string;
  /** Only for this device; null: for all of the user's. */
  readonly deviceId: string | null;
  /** Its number in the user's history, one more than the last; null: not kept (`ttl` 0). */
  readonly offset: number | null;
  readonly event: string;
  readonly data: unknown;
  /** RFC 3339, UTC, with milliseconds. */
  readonly sentAt: string;
}

/** What rooms tell of themselves whenever metrics are asked for. A room that is not there tells nothing. */
export interface ServiceState {
  /** Open sockets, and the users they are of. */
  readonly sockets: number;
  readonly connectedUsers: number;
  /** Handshakes that wait for a transport, and transports that wait to be admitted. */
  readonly handshakesWaiting: number;
  readonly transportsWaiting: number;
  /** Pages of histories that sockets wait for. */
  readonly historyReadsWaiting: number;
  /** Events given to sockets since the start, each socket counted. */
  readonly deliveries: number;
  /** Users of whom other instances have not been told yet. */
  readonly hintsUnsent: number;
  /** Whether hints of other instances arrive. */
  readonly hintsArrive: boolean;
  /** Streams of ended sessions. */
  readonly endedSessionStreams: number;
  /** When the key that signs was first used, or will be; milliseconds since the epoch. */
  readonly signingKeyActiveAt: number;
}

/**
 * What happens in one room and matters in another travels upwards as an event, since nothing may import upwards.
 * An event is heard on the instance where it happened, unless it says otherwise.
 */
export interface DomainEvents {
  /** Someone has signed in. */
  'session.started': [Session & { readonly provider: string }];
  /** A session has been used: a refresh, or a request with its access token. On the hot path: listeners must be cheap. */
  'session.used': [Session];
  /** A session was signed out, on any instance; told on every instance within a second (contract §4). */
  'session.ended': [EndedSession];
  /**
   * This instance has read which sessions were signed out, and told of those. `cursor`: a place from which another stream of
   * them can go on (EndedSessionStore.past); null: it does not know of all yet.
   */
  'sessions.read': [{ readonly cursor: string | null }];
  /** Someone asked for sessions of a user to end: which, and how many were ended. `by`: left out where it was the user. */
  'sign_out.requested': [
    {
      readonly userId: string;
      readonly scope: string;
      readonly sessions: number;
      readonly by?: 'service_key';
    },
  ];
  /** A provider asked for sessions to end: whose they were, and how many were ended. */
  'provider_logout.obeyed': [
    { readonly provider: string; readonly userIds: readonly string[]; readonly sessions: number },
  ];
  /** A code could not be exchanged; `error` is the code of the answer. The provider is known once the state was good. */
  'sign_in.refused': [{ readonly error: string; readonly provider?: string | undefined }];
  /** A refresh was refused: the code of the answer, and the session that the token claims to belong to. */
  'refresh.refused': [{ readonly error: string; readonly session: Session | undefined }];
  /** An event was committed to a user's channel. */
  'channel.appended': [ChannelEvent];
  'device.renamed': [{ readonly userId: string; readonly deviceId: string }];
  'device.removed': [{ readonly userId: string; readonly deviceId: string }];
  /** A user was removed, with everything that is stored of them. */
  'user.removed': [{ readonly userId: string }];
  /** A signing key was made: heard on every instance that learns of it, or, for its own first key, where it started. */
  'key.made': [{ readonly kid: string; readonly activeAt: Date }];
  /** A signing key was withdrawn; heard on every instance, at the moment from which its tokens are refused there. */
  'key.revoked': [{ readonly kid: string }];
  /** An address, or a user, has reached a limit; told once per minute and limit. */
  'rate_limit.exceeded': [
    { readonly limit: string } & ({ readonly address: string } | { readonly userId: string }),
  ];
  /** A request has ended. On the hot path. */
  'request.ended': [
    {
      readonly method: string;
      /** The template of its route (`/devices/:device_id`); undefined where path and method have none. */
      readonly route: string | undefined;
      readonly status: number;
      /** False where the connection was closed before the whole answer was sent. */
      readonly answered: boolean;
      readonly seconds: number;
    },
  ];
  /** A request that no route could be asked about: its head was malformed, too long or too slow. */
  'request.unreadable': [];
  /** A provider was asked for something; `error` is the code that its failure is mapped to. */
  'provider.asked': [
    {
      readonly provider: string;
      readonly operation: ProviderOperation;
      readonly error: ErrorCode | undefined;
      readonly seconds: number;
    },
  ];
  /** Calls that came together have shared one statement (database/statements/coalesce.ts). On the hot path. */
  'statement.shared': [{ readonly name: string; readonly calls: number; readonly seconds: number }];
  /** A socket's handshake was judged: it is open from now on, or `error` says why not. */
  'handshake.judged': [{ readonly error: ErrorCode | undefined }];
  /** A socket is closed; `reason` is the service's (contract §7), or `client`. */
  'socket.closed': [{ readonly reason: string }];
  /** A page of a user's history was read for sockets; the seconds begin when it was asked for. */
  'history.read': [{ readonly events: number; readonly seconds: number }];
  /** Other instances were told of an event, or could not be told. */
  'hint.sent': [{ readonly ok: boolean }];
  /** Another instance has told of an event, of how far a history reaches, or of something that is not understood. */
  'hint.received': [{ readonly kind: 'event' | 'offset' | 'doubtful' }];
  /** Expired rows of a table were removed, as far as it was this instance's turn, or that has failed. */
  'removal.done': [
    { readonly table: string; readonly removed: number; readonly ok: boolean; readonly seconds: number },
  ];
  /** Metrics are asked for: each room tells of its state, at once. */
  'state.asked': [(state: Partial<ServiceState>) => void];
}

export type ProviderOperation = 'authorize' | 'issuer' | 'exchange' | 'logout';

@Injectable()
export class Events extends EventEmitter<DomainEvents> {}

@Global()
@Module({ providers: [Events], exports: [Events] })
export class EventsModule {}
