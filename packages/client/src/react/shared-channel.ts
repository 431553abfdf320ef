import type { Channel, EventHandler } from '../channel/channel-events.js';
import type { LatchkeyError } from '../latchkey-error.js';
import type { Latchkey } from '../latchkey.js';

/** Milliseconds for which the channel stays open without a listener, for the next page. */
const GRACE = 5000;
/** Milliseconds until the next attempt to load Socket.IO. */
const RETRY_DELAY = 5000;

const channels = new WeakMap<Latchkey, ReturnType<typeof share>>();

/** Returns the shared channel of a client, which may have several providers. */
export function sharedChannel(client: Latchkey): ReturnType<typeof share> {
  const known = channels.get(client) ?? share(client);
  channels.set(client, known);
  return known;
}

interface Listener {
  readonly event: string;
  readonly handler: EventHandler;
  stop?: (() => void) | undefined;
}

function share(client: Latchkey) {
  const listeners = new Set<Listener>();
  const watchers = new Set<() => void>();
  let channel: Channel | undefined;
  let isConnected = false;
  /** Stops following the sessions; undefined without listeners. */
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
  /** Called after each change of the session, since another session has another channel. */
  const open = async (): Promise<void> => {
    if (!client.session) return;
    const opened = await client.connect();
    if (!stop) return opened.close(); // the last listener has left
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
      // An open channel reconnects. Other codes: the session has ended, or there is no Socket.IO client.
      if (stop && code === 'network') retrying = setTimeout(follow, RETRY_DELAY);
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
    /** Opens the channel for the first listener. @returns a function that stops listening */
    listen: (event: string, handler: EventHandler): (() => void) => {
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
    /** Calls back when `isConnected` changes. @returns a function that stops watching */
    watch: (notify: () => void): (() => void) => {
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
    isConnected: () => isConnected,
  };
}
