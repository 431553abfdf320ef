/** What the service says once a connection is subscribed (contract §7). */
export interface Ready {
  readonly user_id: string;
  readonly session_id: string;
  readonly device_id: string | null;
  readonly expires_at: string;
  readonly offset: number;
  /** The event at that offset; null where it was removed, and before the first event. */
  readonly id: string | null;
  /** False when events were lost since the last connection: load your data anew. */
  readonly recovered: boolean;
}

/** Comes with each event. `offset` is null for events that are not kept. */
export interface EventMeta {
  readonly id: string;
  readonly offset: number | null;
  readonly sent_at: string;
}

export type EventHandler = (data: unknown, meta: EventMeta) => void;

/** The user's own channel (contract §7), for as long as the session lives. */
export interface Channel {
  /** Whether it is connected and subscribed at this moment. */
  readonly connected: boolean;
  /** Offset of the last event that was handled; undefined before the first `ready`. */
  readonly offset: number | undefined;
  /** The id of that event, where it is known: it shows whether the history was restored from a backup. */
  readonly id: string | null | undefined;
  /** Listens; returns a function that stops it. */
  on(event: 'ready', handler: (ready: Ready) => void): () => void;
  /** The connection is gone. It returns by itself unless `final`: after `close()` and when the session has ended. */
  on(event: 'disconnect', handler: (closed: { readonly final: boolean }) => void): () => void;
  /** Every event of the channel. */
  on(event: '*', handler: (event: string, data: unknown, meta: EventMeta) => void): () => void;
  /** One event, by the name it was pushed with, or an event of the service itself: `device.signed_in`, … */
  on(event: string, handler: EventHandler): () => void;
  close(): void;
}
