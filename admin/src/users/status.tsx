import type { ReactNode } from 'react';
import type { User } from '../api/types.js';

/** Whether a user is suspended, online, or has a session. */
export function Status({
  user,
}: {
  user: Pick<User, 'suspended_at' | 'online' | 'live_sessions'>;
}): ReactNode {
  if (user.suspended_at) return <span className="state bad">Suspended</span>;
  if (user.online) return <span className="state good">Online</span>;
  return <span className="state">{user.live_sessions > 0 ? 'Signed in' : 'Signed out'}</span>;
}
