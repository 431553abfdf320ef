import type { ReactNode } from 'react';
import { useSWRConfig } from 'swr';
import { useLocation } from 'wouter';
import { call } from '../api/api.js';
import { useMayChange } from '../api/session.js';
import type { User } from '../api/types.js';
import { Action } from '../parts/action.js';
import { nameOf } from '../parts/text.js';
import { ended } from './ended.js';
import { Export } from './export.js';

/** What can be done with a user as a whole. */
export function UserActions({ user, reload }: { user: User; reload: () => void }): ReactNode {
  const mayChange = useMayChange();
  const [, navigate] = useLocation();
  const { mutate } = useSWRConfig();
  const path = `/users/${user.user_id}`;
  const name = <bdi className="strong">{nameOf(user)}</bdi>;
  /** Loads what the page shows of this user again. */
  const refresh = async (): Promise<void> => {
    reload();
    await mutate((key) => typeof key === 'string' && key.includes(user.user_id));
  };
  return (
    <div className="actions">
      <Export userId={user.user_id} />
      <Action
        label="Sign out everywhere"
        question="Sign out everywhere?"
        yes="Sign out everywhere"
        run={async () => {
          const { sessions } = await call<{ sessions: number }>(`${path}/sign-out`, 'POST', {});
          await refresh();
          return ended(sessions);
        }}
      >
        All sessions of {name} end at once. The user can sign in again.
      </Action>
      {mayChange && !user.suspended_at && (
        <Action
          label="Suspend"
          isDangerous
          question="Suspend this user?"
          yes="Suspend"
          run={async () => {
            await call(path, 'PATCH', { suspended: true });
            await refresh();
            return 'The user is suspended.';
          }}
        >
          All sessions of {name} end at once, and the user cannot sign in until somebody restores them.
        </Action>
      )}
      {mayChange && user.suspended_at && (
        <Action
          label="Restore"
          question="Restore this user?"
          yes="Restore"
          run={async () => {
            await call(path, 'PATCH', { suspended: false });
            await refresh();
            return 'The user can sign in again.';
          }}
        >
          {name} can sign in again. Ended sessions stay ended.
        </Action>
      )}
      {mayChange && (
        <Action
          label="Remove"
          isDangerous
          question="Remove this user?"
          yes="Remove"
          run={async () => {
            await call(path, 'DELETE');
            navigate('/users');
            await mutate((key) => typeof key === 'string' && key.includes('/users'), undefined);
            return 'The user is removed.';
          }}
        >
          All sessions of {name} end. Then the user, the devices and the events of the channel are removed,
          which cannot be undone. The audit trail keeps the id.{' '}
          {user.suspended_at
            ? 'The id is kept, and sign-ins stay refused until somebody lets it in again.'
            : 'The person may sign in again, as a new user. To keep them out, cancel and suspend them first.'}
        </Action>
      )}
    </div>
  );
}
