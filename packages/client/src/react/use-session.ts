import { useCallback, useSyncExternalStore } from 'react';
import type { Session } from '../session.js';
import { useLatchkey } from './provider.js';

/**
 * Who is signed in, in this tab and all others. The component is rendered again when that changes.
 * @returns `null` when nobody is; `undefined` as long as that is not known: on a server, and while its HTML is hydrated
 *
 * @example
 * const session = useSession();
 * return <p>Hello {session?.username ?? 'there'}</p>;
 */
export function useSession(): Session | null | undefined {
  const client = useLatchkey();
  const subscribe = useCallback((notify: () => void) => client.on('change', notify), [client]);
  return useSyncExternalStore(
    subscribe,
    () => client.session ?? null,
    () => undefined,
  );
}
