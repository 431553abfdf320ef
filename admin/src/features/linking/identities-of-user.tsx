import { useMemo, type ReactNode } from 'react';
import useSWR from 'swr';
import { call, type ApiError } from '../../api/api.js';
import { useMayChange } from '../../api/session.js';
import type { User } from '../../api/types.js';
import type { OfUserProps } from '../../feature.js';
import { Action } from '../../parts/action.js';
import { Failure } from '../../parts/states.js';
import { columnsOf, Table } from '../../parts/table.js';
import { nameOf, When } from '../../parts/text.js';

interface Identity {
  readonly provider: string;
  readonly username: string | null;
  readonly email: string | null;
  /** Null: the user’s own. */
  readonly linked_at: string | null;
  readonly primary: boolean;
}

/** The identities by which a user may sign in. */
export function IdentitiesOfUser({ user, path, reload }: OfUserProps): ReactNode {
  const mayChange = useMayChange();
  const { data, error, mutate } = useSWR<{ identities: readonly Identity[] }, ApiError>(
    mayChange ? `${path}/identities` : null,
  );
  const columns = useMemo(() => {
    const refresh = (): void => {
      void mutate();
      reload();
    };
    return columnsOf<Identity>([
      { id: 'provider', title: 'Provider', cell: ({ provider }) => <bdi>{provider}</bdi> },
      {
        id: 'account',
        title: 'Account',
        cell: ({ username, email }) => (
          <span>
            <bdi>{username ?? email ?? 'Not known before a sign-in'}</bdi>
            {username && email && <bdi className="second">{email}</bdi>}
          </span>
        ),
      },
      {
        id: 'joined',
        title: 'Joined',
        cell: ({ linked_at: at }) => <When at={at} never="The user’s own" />,
      },
      {
        id: 'actions',
        title: 'Actions',
        cell: ({ primary, provider }) =>
          !primary && <Part provider={provider} user={user} path={path} refresh={refresh} />,
      },
    ]);
  }, [user, path, mutate, reload]);
  // Without PROVIDERS_<NAME>_LINKS there is no such call.
  if (error?.status === 404 || (!data && !error)) return null;
  return (
    <section className="card list" aria-labelledby="identities">
      <div className="head">
        <h2 id="identities">Identities</h2>
      </div>
      {error && <Failure error={error} retry={() => void mutate()} />}
      {data && (
        <Table
          label="Identities"
          columns={columns}
          rows={data.identities}
          keyOf={({ provider }) => provider}
        />
      )}
    </section>
  );
}

interface ChangeProps {
  readonly user: User;
  readonly path: string;
  readonly refresh: () => void;
}

function Part({ provider, user, path, refresh }: ChangeProps & { provider: string }): ReactNode {
  return (
    <Action
      label="Part"
      subject={provider}
      isSmall
      isDangerous
      question="Part this identity?"
      yes="Part"
      run={async () => {
        await call(`${path}/identities/${encodeURIComponent(provider)}`, 'DELETE');
        refresh();
        return 'The identity is parted.';
      }}
    >
      Sessions of <bdi className="strong">{nameOf(user)}</bdi> that have begun at{' '}
      <bdi className="strong">{provider}</bdi> end at once. The next sign-in there makes another user.
    </Action>
  );
}
