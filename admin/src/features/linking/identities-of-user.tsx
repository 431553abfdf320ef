import { useMemo, useRef, type ReactNode } from 'react';
import useSWR from 'swr';
import { call, type ApiError } from '../../api/api.js';
import { useMayChange } from '../../api/session.js';
import type { User } from '../../api/types.js';
import { useProviders } from '../../api/use-providers.js';
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

interface Identities {
  readonly identities: readonly Identity[];
  /** Names of the providers of identities that may be joined besides. */
  readonly joinable: readonly string[];
}

/** The identities by which a user may sign in. */
export function IdentitiesOfUser({ user, path, reload }: OfUserProps): ReactNode {
  const mayChange = useMayChange();
  const { data, error, mutate } = useSWR<Identities, ApiError>(mayChange ? `${path}/identities` : null);
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
        {data && (
          <Join
            user={user}
            path={path}
            joinable={data.joinable}
            refresh={() => {
              void mutate();
              reload();
            }}
          />
        )}
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

function Join({
  user,
  path,
  joinable,
  refresh,
}: ChangeProps & {
  joinable: readonly string[];
}): ReactNode {
  const provider = useRef<HTMLSelectElement>(null);
  const id = useRef<HTMLInputElement>(null);
  const others = useProviders().filter(({ name }) => joinable.includes(name));
  if (others.length === 0) return null;
  const run = async (): Promise<string> => {
    const identity = { provider: provider.current!.value, provider_user_id: id.current!.value };
    try {
      await call(`${path}/identities`, 'POST', identity);
    } catch (error) {
      throw await explained(error as ApiError, identity);
    }
    refresh();
    return 'The identity is joined.';
  };
  return (
    <Action label="Join by hand" question="Join an account that has not signed in?" yes="Join" run={run}>
      <p>
        Whoever owns the account signs in as <bdi className="strong">{nameOf(user)}</bdi> from then on. Ask
        the person for the proof that it is theirs.
      </p>
      <label className="field">
        Provider
        <select ref={provider}>
          {others.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        Id of the account there
        <input ref={id} maxLength={255} autoComplete="off" spellCheck={false} />
      </label>
    </Action>
  );
}

/** An error that names the other person, if the account is theirs. */
async function explained(error: ApiError, identity: Record<string, string>): Promise<Error> {
  if (error.status !== 409) return error;
  const search = new URLSearchParams(identity).toString();
  const { users } = await call<{ users: User[] }>(`/users?${search}`);
  const [other] = users;
  if (!other) return error;
  return new Error(
    `This account signs in here as ${nameOf(other)}. Only the person can merge the two, on your page.`,
  );
}
