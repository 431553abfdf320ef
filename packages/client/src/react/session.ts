import { useCallback, useSyncExternalStore, type ReactNode } from 'react';
import type { Session } from '../session.js';
import { useLatchkey } from './provider.js';

/**
 * Returns the session, and renders the component again when it changes, in this tab or another.
 * @returns `null` if no user is signed in; `undefined` on a server and during hydration
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

/** Shows its children if a user is signed in. It hides, and does not protect: what only the user may see comes from your API. */
export function SignedIn({ children }: { children?: ReactNode }): ReactNode {
  return useSession() ? children : null;
}

/** Shows its children if no user is signed in; never in the HTML of a server, which does not know. */
export function SignedOut({ children }: { children?: ReactNode }): ReactNode {
  return useSession() === null ? children : null;
}
