import { useMemo, useState, type ReactNode } from 'react';
import { call } from '../api/api.js';
import type { Device, Session, UserDetail } from '../api/types.js';
import { isListedByFeature } from '../features.js';
import { Action } from '../parts/action.js';
import { Empty, Failure, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { nameOf, programOf, When } from '../parts/text.js';
import { sessionDetails } from './details.js';
import { ended } from './ended.js';
import { Find, fits } from './find.js';
import type { Rest } from './use-rest.js';
import { DeviceOfSession, nameOfDevice } from './which-device.js';

/** The live sessions of a user, newest use first. */
export function Sessions({
  path,
  user,
  list: { rows, rest },
  devices: { rows: allDevices },
  showDevice,
  reload,
}: {
  path: string;
  user: UserDetail;
  list: Rest<Session>;
  devices: Rest<Device>;
  showDevice: (deviceId: string) => void;
  reload: () => void;
}): ReactNode {
  const [text, setText] = useState('');
  const name = nameOf(user);
  const devices = useMemo(
    () => new Map(allDevices.map((device) => [device.device_id, device])),
    [allDevices],
  );
  const columns = useMemo(
    () =>
      columnsOf<Session>([
        {
          id: 'session',
          title: 'Session',
          cell: (session) => (
            <>
              <bdi className="strong">{whereIs(session, devices)}</bdi>
              <span className="second">
                <DeviceOfSession session={session} devices={devices} show={showDevice} />, since{' '}
                <When at={session.created_at} isExact />
              </span>
            </>
          ),
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
          cell: (session) => {
            const of = { session, where: whereIs(session, devices), path, name, reload };
            return <SignOut {...of} />;
          },
        },
      ]),
    [path, name, devices, showDevice, reload],
  );
  const found = text.trim() === '' ? rows : rows.filter((one) => fits(text.trim(), valuesOf(one, devices)));
  return (
    <section className="card list" aria-labelledby="sessions">
      <div className="head">
        <h2 id="sessions">Sessions</h2>
        <Find label="Find a session" count={rows.length} text={text} setText={setText} />
      </div>
      {rows.length === 0 && <Empty>This user is signed in nowhere.</Empty>}
      {rows.length > 0 && found.length === 0 && <Empty>No loaded session fits.</Empty>}
      {found.length > 0 && (
        <Table label="Sessions" columns={columns} rows={found} keyOf={keyOf} details={sessionDetails} />
      )}
      {rest.error && <Failure error={rest.error} retry={rest.reload} />}
      <More {...rest} label={found.length === 0 ? 'Search further' : 'Load more'} />
    </section>
  );
}

const keyOf = ({ session_id }: Session): string => session_id;

function valuesOf(session: Session, devices: ReadonlyMap<string, Device>): (string | null | undefined)[] {
  const { device_id, session_id, address } = session;
  const device = devices.get(device_id ?? '');
  return [device?.device_name, programOf(session), address, device_id, session_id];
}

/** Returns the browser of a session. For a device that a feature lists, its name: the browser only made it. */
function whereIs(session: Session, devices: ReadonlyMap<string, Device>): string {
  const device = devices.get(session.device_id ?? '');
  return device && isListedByFeature(device) ? nameOfDevice(device) : programOf(session);
}

function SignOut({
  session,
  where,
  path,
  name,
  reload,
}: {
  session: Session;
  where: string;
  path: string;
  name: string;
  reload: () => void;
}): ReactNode {
  return (
    <Action
      label="Sign out"
      subject={where}
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
      <bdi className="strong">{name}</bdi> is signed out in {where} at once.
    </Action>
  );
}

/** Why a session ends at that time, if no person ends it before (docs/guides/session-length.md#how-long-a-session-lasts). */
const WHY: Readonly<Record<string, string>> = {
  lifetime: 'at the end of its lifetime',
  idle: 'if it is not used before',
  session_expiry: 'with the provider’s session',
};

function End({ session: { expires_at, ends_because } }: { session: Session }): ReactNode {
  return (
    <span>
      <When at={expires_at} />
      <span className="second">{WHY[ends_because] ?? ends_because}</span>
    </span>
  );
}
