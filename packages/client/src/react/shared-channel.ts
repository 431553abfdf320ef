import type { Channel, EventHandler } from '../channel-events.js';
import type { LatchkeyError } from '../latchkey-error.js';
import type { Latchkey } from '../latchkey.js';

/** Milliseconds. The channel stays open that long without a listener, so that the next page finds it open. */
const GRACE = 5000;
/** Milliseconds until another attempt to load Socket.IO. */
const PAUSE = 5000;

/** The channel of a client, for all components that listen to it. */
export interface SharedChannel {
  /** Opens the channel if need be; returns a function that stops listening. */
  readonly listen: (event: string, handler: EventHandler) => () => void;
  /** Calls back when `isConnected` has changed; returns a function that stops it. */
  readonly watch: (notify: () => void) => () => void;
  readonly isConnected: () => boolean;
}

const channels = new WeakMap<Latchkey, SharedChannel>();

/** The one of this client, however many providers it is given to. */
export function sharedChannel(client: Latchkey): SharedChannel {
  const known = channels.get(client) ?? share(client);
  channels.set(client, known);
  return known;
}

interface Listener {
  readonly event: string;
  readonly handler: EventHandler;
  stop?: (() => void) | undefined;
}

function share(client: Latchkey): SharedChannel {
  const listeners = new Set<Listener>();
  const watchers = new Set<() => void>();
  let channel: Channel | undefined;
  let isConnected = false;
  /** Stops following the sessions; undefined while nobody listens. */
  let stop: (() => void) | undefined;
  let closing: ReturnType<typeof setTimeout> | undefined;
  let retrying: ReturnType<typeof setTimeout> | undefined;

  const setConnected = (now: boolean): void => {
    if (isConnected === now) return;
    isConnected = now;
    for (const notify of watchers) notify();
  };
  const attach = (listener: Listener): void => {
    listener.stop = channel?.on(listener.event, listener.handler);
  };
  /** Also after each change of the session, because another session has another channel. */
  const open = async (): Promise<void> => {
    if (!client.session) return;
    const opened = await client.connect();
    if (!stop) return opened.close(); // everybody has left meanwhile
    if (opened === channel) return;
    channel = opened;
    channel.on('ready', () => channel === opened && setConnected(true));
    channel.on('disconnect', () => channel === opened && setConnected(false));
    listeners.forEach(attach);
    setConnected(opened.connected);
  };
  const follow = (): void => {
    clearTimeout(retrying);
    open().catch(({ code }: LatchkeyError) => {
      // Once it is open, the channel comes back by itself. It fails when the session ends before, and when Socket.IO cannot be
      // loaded: now, or never, which the client warns of.
      if (stop && code === 'network') retrying = setTimeout(follow, PAUSE);
    });
  };
  const close = (): void => {
    clearTimeout(retrying);
    stop?.();
    stop = undefined;
    channel?.close();
    channel = undefined;
    setConnected(false);
  };

  return {
    listen(event, handler) {
      clearTimeout(closing);
      const listener: Listener = { event, handler };
      listeners.add(listener);
      attach(listener);
      stop ??= client.on('change', follow);
      follow();
      return () => {
        listener.stop?.();
        listeners.delete(listener);
        if (!listeners.size) closing = setTimeout(close, GRACE);
      };
    },
    watch(notify) {
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
    isConnected: () => isConnected,
  };
}
