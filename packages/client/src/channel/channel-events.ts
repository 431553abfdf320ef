import type { UserClaims } from '../tokens/claims.js';

/** Sent by the service at each connection of the channel. */
export interface Ready {
  readonly user_id: string;
  readonly session_id: string;
  readonly device_id: string | null;
  /** Expiry of the connection's token (RFC 3339). The client renews it before. */
  readonly expires_at: string;
  /** Number of the newest event. */
  readonly offset: number;
  /** Id of that event; null if it was removed, and before the first event. */
  readonly id: string | null;
  /** False if events were lost since the last connection: load your data again. */
  readonly recovered: boolean;
}

/** Comes with each event. */
export interface EventMeta {
  readonly id: string;
  /** Number of the event in the user's history, one more than the last; null if the event is not kept (`ttl` 0). */
  readonly offset: number | null;
  /** RFC 3339. */
  readonly sent_at: string;
}

/** Handles an event. @typeParam Data the `data` of `POST /push` */
export type EventHandler<Data = unknown> = (data: Data, meta: EventMeta) => void;

/** Describes the device of a `device.*` event. Times are RFC 3339. */
export interface DeviceEvent {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
}

/** A device without a browser that asks to be signed in as the user. Times are RFC 3339. */
export interface DeviceRequestEvent {
  readonly request_id: string;
  readonly device_name: string | null;
  readonly address: string | null;
  readonly expires_at: string;
}

/** A program of a third party that the user lets act for them. */
export interface AgentEvent {
  readonly device_id: string;
  readonly client_name: string;
  /** The API that it may use. */
  readonly resource: string;
  /** What it may do there, separated by spaces. */
  readonly scope: string;
}

/** The user's claims, all of them. */
export interface ClaimsEvent {
  readonly claims: UserClaims;
}

/** The service's own events, sent to each of the user's devices. */
export interface ServiceEvents {
  /** A device has signed in. */
  'device.signed_in': DeviceEvent;
  /** A device has another name. */
  'device.renamed': DeviceEvent;
  /** The last session of a device has ended. */
  'device.signed_out': DeviceEvent;
  /** A device without a browser asks to be signed in as the user: `deviceRequests()`. */
  'device.requested': DeviceRequestEvent;
  /** A program may act for the user: `devices()` has it. */
  'agent.allowed': AgentEvent;
  /** An account at another provider was joined to the user's own, or parted. */
  'identities.changed': Record<string, never>;
  /** The user's claims have changed. The client refreshes the token; `session.claims` has them with the next `change`. */
  'claims.changed': ClaimsEvent;
}

/** Maps names to data: the application's events (any name, if no types are given) and the service's. */
export type ChannelEvents<Events extends object> = (object extends Events
  ? Record<string, unknown>
  : Events) &
  ServiceEvents;

/** Names of all events of a channel. */
export type EventName<Events extends object> = keyof ChannelEvents<Events> & string;

/**
 * The user's own channel, open as long as the session lives. It reconnects with a fresh token and resumes after the last event,
 * so each event is handled once and in order.
 *
 * @example
 * interface MyEvents { 'order.shipped': { id: string } }
 * const latchkey = createClient<MyEvents>({ … });
 * const channel = await latchkey.connect();
 * channel.on('order.shipped', ({ id }) => show(id));
 * channel.on('device.signed_in', ({ device_name }) => notify(device_name));
 */
// oxlint-disable-next-line typescript/no-explicit-any -- so that a channel of any events fits
export interface Channel<Events extends object = any> {
  /** Whether the channel is connected and subscribed. */
  readonly connected: boolean;
  /** Offset of the last event; undefined before the first `ready`. Store it, and pass it to `connect()` after a reload. */
  readonly offset: number | undefined;
  /** Id of that event, if known. Stored with `offset`, it detects a history that was restored from a backup. */
  readonly id: string | null | undefined;
  /** Listens to connections, the first and all later ones. Returns a function that stops listening. */
  on(event: 'ready', handler: (ready: Ready) => void): () => void;
  /** Listens to lost connections. The channel reconnects unless `final`: after `close()`, and if the session has ended. */
  on(event: 'disconnect', handler: (closed: { readonly final: boolean }) => void): () => void;
  /** Listens to all events, unknown names included. */
  on(
    event: '*',
    handler: (
      event: EventName<Events>,
      data: ChannelEvents<Events>[EventName<Events>],
      meta: EventMeta,
    ) => void,
  ): () => void;
  /**
   * Listens to one event: a name given to `POST /push`, or an event of the service (`device.signed_in`, …).
   *
   * @example
   * const stop = channel.on('order.shipped', (order, { sent_at }) => show(order, sent_at));
   */
  on<Name extends EventName<Events>>(
    event: Name,
    handler: EventHandler<ChannelEvents<Events>[Name]>,
  ): () => void;
  /** Closes the channel for good. The next `connect()` opens another one. */
  close(): void;
}

/** The part of a `socket.io-client` 4 socket that the channel uses. */
export interface Socket {
  disconnect(): unknown;
  on(event: 'connect_error' | 'disconnect', handler: (...details: never[]) => void): unknown;
  onAny(handler: (event: string, ...details: unknown[]) => void): unknown;
  /** A function as the last parameter gets the acknowledgement. */
  emit(event: string, ...parameters: unknown[]): unknown;
}

/** The module `socket.io-client`, or a module with an equal `io`. */
export interface SocketIo {
  readonly io: (url: string, options: Record<string, unknown>) => Socket;
}
