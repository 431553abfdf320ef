import { useEffect, useInsertionEffect, useRef, useSyncExternalStore } from 'react';
import type { ChannelEvents, EventHandler, EventName } from '../channel/channel-events.js';
import { useLatchkey, type RegisteredEvents } from './provider.js';
import { sharedChannel } from './shared-channel.js';

/**
 * Listens to an event of the user's channel while the component is mounted. All components share one channel: it is open while a
 * user is signed in, and is closed 5 s after the last component is unmounted.
 * @param handler may be another function at each rendering; the latest one is called
 * @returns whether the channel is connected. Load your data each time this becomes true
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
