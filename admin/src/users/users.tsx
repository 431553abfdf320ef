import { useCallback, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { User } from '../api/types.js';
import { usePages, type Pages } from '../api/use-pages.js';
import { formatNumber } from '../parts/locale.js';
import { Heading } from '../parts/heading.js';
import { Empty, Failure, Loading, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { Avatar, nameOf, When } from '../parts/text.js';
import { Value } from '../parts/value.js';
import { useFilters, useTyped } from '../parts/use-filters.js';
import { useProviders } from '../api/use-providers.js';
import { RemovedUsers } from './removed.js';
import { Status } from './status.js';

const LIMIT = 50;
/** Roles that a row shows. */
const ROLES = 4;

const COLUMNS = columnsOf<User>([
  {
    id: 'user',
    title: 'User',
    cell: (user) => (
      <span className="person">
        <Avatar user={user} />
        <span>
          <Link href={`/users/${user.user_id}`}>
            <bdi>{nameOf(user)}</bdi>
          </Link>
          {user.username && user.email && <bdi className="second">{user.email}</bdi>}
        </span>
      </span>
    ),
  },
  { id: 'status', title: 'Status', cell: (user) => <Status user={user} /> },
  { id: 'provider', title: 'Provider', cell: ({ provider }) => provider },
  { id: 'roles', title: 'Roles', cell: ({ claims }) => <Roles roles={claims['roles']} /> },
  { id: 'sessions', title: 'Sessions', cell: ({ live_sessions }) => formatNumber(live_sessions) },
  { id: 'seen', title: 'Last seen', cell: ({ last_seen_at }) => <When at={last_seen_at} /> },
  { id: 'created', title: 'Created', cell: ({ created_at }) => <When at={created_at} /> },
]);

/** Users, newest first, with a search, which lists them by name and e-mail address. */
export function Users(): ReactNode {
  const [filters, setFilter] = useFilters();
  const search = useCallback((value: string) => setFilter('q', value), [setFilter]);
  const filterRole = useCallback((value: string) => setFilter('role', value), [setFilter]);
  const [text, setText] = useTyped(filters.get('q') ?? '', search);
  const [role, setRole] = useTyped(filters.get('role') ?? '', filterRole);
  const providers = useProviders();
  const query = new URLSearchParams({ limit: String(LIMIT) });
  for (const name of ['q', 'role', 'suspended', 'provider'])
    if (filters.get(name)) query.set(name, filters.get(name)!);
  const isRemoved = filters.get('suspended') === 'removed';
  const users = usePages<User>(isRemoved ? null : `/users?${query}`, 'users');
  const isFiltered = query.size > 1;

  return (
    <>
      <Heading title="Users" />
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label className="wide">
          Search
          <input
            type="search"
            value={text}
            onChange={({ target }) => setText(target.value)}
            placeholder="Beginning of a name or e-mail address, or an id"
            maxLength={255}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <label>
          Role
          <input
            value={role}
            onChange={({ target }) => setRole(target.value)}
            placeholder="Any"
            maxLength={128}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <label>
          Status
          <select
            value={filters.get('suspended') ?? ''}
            onChange={({ target }) => setFilter('suspended', target.value)}
          >
            <option value="">Any</option>
            <option value="true">Suspended</option>
            <option value="false">Not suspended</option>
            <option value="removed">Removed, kept out</option>
          </select>
        </label>
        <label>
          Provider
          <select
            value={filters.get('provider') ?? ''}
            onChange={({ target }) => setFilter('provider', target.value)}
          >
            <option value="">Any</option>
            {providers.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </form>
      <section className="card list" aria-label="Found users">
        {isRemoved ? <RemovedUsers /> : <FoundUsers users={users} isFiltered={isFiltered} />}
      </section>
    </>
  );
}

function FoundUsers({ users, isFiltered }: { users: Pages<User>; isFiltered: boolean }): ReactNode {
  return (
    <>
      {users.rows.length > 0 && (
        <Table
          label="Users"
          columns={COLUMNS}
          rows={users.rows}
          keyOf={({ user_id }) => user_id}
          isOld={users.isOld}
        />
      )}
      {users.error && <Failure error={users.error} retry={users.reload} />}
      {users.isLoading && users.rows.length === 0 && <Loading what="users" lines={6} />}
      {!users.isLoading && !users.error && users.rows.length === 0 && !users.hasMore && (
        <Empty>
          {isFiltered
            ? 'No user fits. The search compares the beginnings of words of names and addresses.'
            : 'No user has signed in yet.'}
        </Empty>
      )}
      {!users.isLoading && users.rows.length === 0 && users.hasMore && (
        <Empty>No user found so far, among the newest ones.</Empty>
      )}
      <More {...users} label={users.rows.length === 0 ? 'Search further' : 'Load more'} />
    </>
  );
}

function Roles({ roles }: { roles: unknown }): ReactNode {
  if (!Array.isArray(roles) || roles.length === 0) return <span className="soft">–</span>;
  return <Value value={roles.slice(0, ROLES)} />;
}
