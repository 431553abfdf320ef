import type { ReactNode } from 'react';
import type { User } from '../api/types.js';

/** Whether a user is suspended, online, or has a session. */
export function Status({
  user,
}: {
  user: Pick<User, 'suspended_at' | 'online' | 'live_sessions'>;
}): ReactNode {
  if (user.suspended_at) return <span className="state bad">Suspended</span>;
  if (user.live_sessions === 0) return <span className="state">Signed out</span>; // a socket may need a second to close
  return user.online ? <span className="state good">Online</span> : <span className="state">Signed in</span>;
}
