import type { ReactNode } from 'react';
import { useSession } from './use-session.js';

/** Shows its children when somebody is signed in. It hides, and does not protect: what only the user may see comes from your API. */
export function SignedIn({ children }: { children?: ReactNode }): ReactNode {
  return useSession() ? children : null;
}

/** Shows its children when nobody is signed in, as soon as that is known: never in the HTML of a server. */
export function SignedOut({ children }: { children?: ReactNode }): ReactNode {
  return useSession() === null ? children : null;
}
