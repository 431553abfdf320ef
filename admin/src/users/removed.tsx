import type { ReactNode } from 'react';
import { call } from '../api/api.js';
import { useMayChange } from '../api/session.js';
import type { RemovedUser } from '../api/types.js';
import { usePages } from '../api/use-pages.js';
import { Action } from '../parts/action.js';
import { Empty, Failure, Loading, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { When } from '../parts/text.js';

interface Row extends RemovedUser {
  readonly reload: () => void;
}

const COLUMNS = columnsOf<Row>([
  { id: 'user', title: 'User id', cell: ({ user_id }) => <code>{user_id}</code> },
  { id: 'removed', title: 'Removed', cell: ({ removed_at }) => <When at={removed_at} /> },
  { id: 'actions', title: 'Actions', cell: (row) => <LetIn {...row} /> },
]);

/** Removed users whose sign-ins are refused, latest removal first. */
export function RemovedUsers(): ReactNode {
  const mayList = useMayChange();
  const removed = usePages<RemovedUser>(mayList ? '/users/removed' : null, 'users');
  const { reload } = removed;
  if (!mayList) return <Empty>Only those who may remove users see this list.</Empty>;
  return (
    <>
      {removed.rows.length > 0 && (
        <Table
          label="Removed users"
          columns={COLUMNS}
          rows={removed.rows.map((row) => ({ ...row, reload }))}
          keyOf={({ user_id }) => user_id}
        />
      )}
      {removed.error && <Failure error={removed.error} retry={reload} />}
      {removed.isLoading && removed.rows.length === 0 && <Loading what="removed users" lines={6} />}
      {!removed.isLoading && !removed.error && removed.rows.length === 0 && (
        <Empty>No removed user is kept out. Suspend a user before the removal to keep them out.</Empty>
      )}
      <More {...removed} />
    </>
  );
}

function LetIn({ user_id, reload }: Row): ReactNode {
  return (
    <Action
      label="Let in again"
      subject={user_id}
      isSmall
      question="Let this person in again?"
      yes="Let in again"
      run={async () => {
        await call(`/users/${user_id}`, 'PATCH', { suspended: false });
        reload();
        return 'The person can sign in again.';
      }}
    >
      The id is forgotten. A sign-in makes a new user, without the former claims, devices and events.
    </Action>
  );
}
