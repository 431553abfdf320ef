import { useMemo, type ReactNode } from 'react';
import { call } from '../api/api.js';
import type { Device, Session, UserDetail } from '../api/types.js';
import { Action } from '../parts/action.js';
import { Empty, Failure, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { nameOf, programOf, When } from '../parts/text.js';
import { ended } from './ended.js';
import type { Rest } from './use-rest.js';

/** The live sessions of a user, newest use first. */
export function Sessions({
  path,
  user,
  list: { rows, rest },
  reload,
}: {
  path: string;
  user: UserDetail;
  list: Rest<Session>;
  reload: () => void;
}): ReactNode {
  const name = nameOf(user);
  const { devices } = user;
  const columns = useMemo(
    () =>
      columnsOf<Session>([
        {
          id: 'session',
          title: 'Session',
          cell: (session) => <WhichSession session={session} devices={devices} />,
        },
        {
          id: 'state',
          title: 'Status',
          cell: ({ online }) =>
            online ? <span className="state good">Online</span> : <span className="state">Signed in</span>,
        },
        {
          id: 'address',
          title: 'Address',
          cell: ({ address }) => address ?? <span className="soft">–</span>,
        },
        { id: 'used', title: 'Last use', cell: ({ last_used_at }) => <When at={last_used_at} /> },
        { id: 'ends', title: 'Ends', cell: (session) => <End session={session} /> },
        {
          id: 'actions',
          title: 'Actions',
          cell: (session) => (
            <Action
              label="Sign out"
              subject={programOf(session)}
              isSmall
              question="End this session?"
              yes="End the session"
              run={async () => {
                const body = { session_id: session.session_id };
                const { sessions } = await call<{ sessions: number }>(`${path}/sign-out`, 'POST', body);
                reload();
                return ended(sessions);
              }}
            >
              <bdi className="strong">{name}</bdi> is signed out in {programOf(session)} at once.
            </Action>
          ),
        },
      ]),
    [path, name, devices, reload],
  );
  return (
    <section className="card list" aria-labelledby="sessions">
      <div className="head">
        <h2 id="sessions">Sessions</h2>
      </div>
      {rows.length === 0 && <Empty>This user is signed in nowhere.</Empty>}
      {rows.length > 0 && (
        <Table label="Sessions" columns={columns} rows={rows} keyOf={({ session_id }) => session_id} />
      )}
      {rest.error && <Failure error={rest.error} retry={rest.reload} />}
      <More {...rest} />
    </section>
  );
}

/** Why a session ends at that time, if nobody ends it before (docs/guides/session-length.md#how-long-a-session-lasts). */
const WHY: Readonly<Record<string, string>> = {
  lifetime: 'its lifetime is over',
  idle: 'if it is not used before',
  session_expiry: 'the provider’s session ends',
};

function End({ session: { expires_at, ends_because } }: { session: Session }): ReactNode {
  return (
    <span>
      <When at={expires_at} />
      <span className="second">{WHY[ends_because] ?? ends_because}</span>
    </span>
  );
}

function WhichSession({ session, devices }: { session: Session; devices: readonly Device[] }): ReactNode {
  const device = devices.find(({ device_id }) => device_id === session.device_id)?.device_name;
  return (
    <>
      <span className="strong" title={session.user_agent ?? undefined}>
        {programOf(session)}
      </span>
      <span className="second">
        {device && (
          <>
            <bdi>{device}</bdi>, since{' '}
          </>
        )}
        {!device && 'Since '}
        <When at={session.created_at} isExact />
        {session.bound && ', bound to a key'}
      </span>
    </>
  );
}
