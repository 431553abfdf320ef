/** What the service says once a connection is subscribed: whose channel it is, and where in its history it stands. */
export interface Ready {
  readonly user_id: string;
  readonly session_id: string;
  readonly device_id: string | null;
  /** When the token of the connection ends (RFC 3339). The client renews it before. */
  readonly expires_at: string;
  /** Number of the newest event that there is. */
  readonly offset: number;
  /** The event at that offset; null where it was removed, and before the first event. */
  readonly id: string | null;
  /** False when events were lost since the last connection: load your data anew. */
  readonly recovered: boolean;
}

/** Comes with each event. */
export interface EventMeta {
  readonly id: string;
  /** The event's number in the user's history, one more than the last; null for an event that is not kept (`ttl` 0). */
  readonly offset: number | null;
  /** RFC 3339. */
  readonly sent_at: string;
}

/** @typeParam Data what the event carries, as it was given to `POST /push` */
export type EventHandler<Data = unknown> = (data: Data, meta: EventMeta) => void;

/** What an event about a device carries. Times are RFC 3339. */
export interface DeviceEvent {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
}

/** The events that the service itself sends to each of the user's devices. */
export interface ServiceEvents {
  /** Somebody has signed in on a device. */
  'device.signed_in': DeviceEvent;
  /** A device has another name. */
  'device.renamed': DeviceEvent;
  /** Nobody is signed in on a device any more. */
  'device.signed_out': DeviceEvent;
}

/** All events of a channel: the application's own, which may have any name where no types are given, and the service's. */
export type ChannelEvents<Events extends object> = (object extends Events
  ? Record<string, unknown>
  : Events) &
  ServiceEvents;

/** The names of all events of a channel. */
export type EventName<Events extends object> = keyof ChannelEvents<Events> & string;

/**
 * The user's own channel, for as long as the session lives. It reconnects by itself, with a fresh token, and goes on after the
 * last event, so each event is handled once, and in order.
 *
 * @example
 * interface MyEvents { 'order.shipped': { id: string } }
 * const latchkey = createClient<MyEvents>({ … });
 * const channel = await latchkey.connect();
 * channel.on('order.shipped', ({ id }) => show(id));
 * channel.on('device.signed_in', ({ device_name }) => notify(device_name));
 */
// oxlint-disable-next-line typescript/no-explicit-any -- so that a channel of any events is one
export interface Channel<Events extends object = any> {
  /** Whether it is connected and subscribed at this moment. */
  readonly connected: boolean;
  /** Offset of the last event that was handled; undefined before the first `ready`. Keep it, and give it to `connect()` later. */
  readonly offset: number | undefined;
  /** The id of that event, where it is known. Kept beside `offset`, it shows whether the history was restored from a backup. */
  readonly id: string | null | undefined;
  /** At each connection, the first and all later ones. Listens; returns a function that stops it. */
  on(event: 'ready', handler: (ready: Ready) => void): () => void;
  /** The connection is gone. It returns by itself unless `final`: after `close()` and when the session has ended. */
  on(event: 'disconnect', handler: (closed: { readonly final: boolean }) => void): () => void;
  /** Every event of the channel, whatever its name: events that you do not know come here, too. */
  on(
    event: '*',
    handler: (
      event: EventName<Events>,
      data: ChannelEvents<Events>[EventName<Events>],
      meta: EventMeta,
    ) => void,
  ): () => void;
  /** One event, by the name it was pushed with, or an event of the service itself: `device.signed_in`, … */
  on<Name extends EventName<Events>>(
    event: Name,
    handler: EventHandler<ChannelEvents<Events>[Name]>,
  ): () => void;
  /** Ends it. The next `connect()` opens another. */
  close(): void;
}
