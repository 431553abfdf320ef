import { useCallback, useEffect, useSyncExternalStore, type ReactNode } from 'react';
import type { StepUpOptions } from '../options.js';
import type { Session } from '../session.js';
import type { UserClaims } from '../tokens/claims.js';
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

/**
 * Returns `stepUp()` of the client: it asks the user to sign in again, unless the session is new enough. Call it from a click. For a
 * request, `fetch` does this by itself.
 *
 * @example
 * const stepUp = useStepUp();
 * return <button onClick={() => stepUp({ maxAge: 300 }).then(showForm, () => {})}>Change password</button>;
 */
export function useStepUp(): (needed: StepUpOptions) => Promise<Session> {
  const client = useLatchkey();
  useEffect(() => {
    client.providers().catch(() => undefined); // browsers open windows only during a click, which must know the mode
  }, [client]);
  return client.stepUp;
}

const NONE: UserClaims = {};

/**
 * Returns the user's claims, and renders the component again when they change: at once if the channel is open (`useChannel()`), else with
 * the next refresh. Empty if no user is signed in.
 *
 * @example
 * const { plan, roles = [] } = useClaims();
 */
export function useClaims(): UserClaims {
  return useSession()?.claims ?? NONE;
}

/** The properties of `<SignedIn>`. */
export interface SignedInProps {
  /** Shows the children only to users with this role. */
  role?: string;
  children?: ReactNode;
}

/**
 * Shows its children if a user is signed in, and has the role if one is given. It hides, and does not protect: what only the user, or an
 * admin, may see comes from your API, which checks the token.
 *
 * @example
 * <SignedIn role="admin"><DeleteButton /></SignedIn>
 */
export function SignedIn(props: SignedInProps): ReactNode {
  const session = useSession();
  const { roles } = session?.claims ?? NONE;
  // A role that is given as undefined, from a setting that is missing, is a role that no user has.
  const isShown = session && (!('role' in props) || (Array.isArray(roles) && roles.includes(props.role)));
  return isShown ? props.children : null;
}

/** Shows its children if no user is signed in; never in the HTML of a server, which does not know. */
export function SignedOut({ children }: { children?: ReactNode }): ReactNode {
  return useSession() === null ? children : null;
}
