import { useEffect, useInsertionEffect, useRef, useSyncExternalStore } from 'react';
import type { ChannelEvents, EventHandler, EventName } from '../channel-events.js';
import { useLatchkey, type RegisteredEvents } from './provider.js';
import { sharedChannel } from './shared-channel.js';

/**
 * Listens to an event of the user's channel for as long as the component is there. All components share one channel: it is
 * opened for the first of them as soon as somebody is signed in, and closed some seconds after the last.
 * @param handler the newest one is called; it need not be the same function at each rendering
 * @returns whether the channel is connected at this moment. Load what the events are about whenever that becomes true
 *
 * @example
 * const isLive = useChannel('order.placed', (order) => setOrders((before) => [...before, order]));
 */
export function useChannel<Name extends EventName<RegisteredEvents>>(
  event: Name,
  handler: EventHandler<ChannelEvents<RegisteredEvents>[Name]>,
): boolean {
  const { listen, watch, isConnected } = sharedChannel(useLatchkey());
  const newest = useRef(handler);
  useInsertionEffect(() => {
    newest.current = handler;
  });
  useEffect(() => listen(event, (data, meta) => newest.current(data, meta)), [listen, event]);
  return useSyncExternalStore(watch, isConnected, () => false);
}
