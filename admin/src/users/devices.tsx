import { useMemo, type ReactNode } from 'react';
import { call } from '../api/api.js';
import type { Device, UserDetail } from '../api/types.js';
import { Action } from '../parts/action.js';
import { Empty, Failure, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { nameOf, programOf, When } from '../parts/text.js';
import { ended } from './ended.js';
import type { Rest } from './use-rest.js';

/** The devices of a user, newest use first. */
export function Devices({
  path,
  user,
  list: { rows, rest },
  reload,
}: {
  path: string;
  user: UserDetail;
  list: Rest<Device>;
  reload: () => void;
}): ReactNode {
  const name = nameOf(user);
  const columns = useMemo(
    () =>
      columnsOf<Device>([
        { id: 'device', title: 'Device', cell: (device) => <WhichDevice device={device} /> },
        { id: 'state', title: 'Status', cell: (device) => <DeviceState device={device} /> },
        {
          id: 'address',
          title: 'Address',
          cell: ({ address }) => address ?? <span className="soft">–</span>,
        },
        { id: 'seen', title: 'Last use', cell: ({ last_seen_at }) => <When at={last_seen_at} /> },
        { id: 'created', title: 'First sign-in', cell: ({ created_at }) => <When at={created_at} /> },
        {
          id: 'actions',
          title: 'Actions',
          cell: (device) =>
            device.signed_in && <SignOut device={device} path={path} name={name} reload={reload} />,
        },
      ]),
    [path, name, reload],
  );
  return (
    <section className="card list" aria-labelledby="devices">
      <div className="head">
        <h2 id="devices">Devices</h2>
      </div>
      {rows.length === 0 && <Empty>This user has no devices.</Empty>}
      {rows.length > 0 && (
        <Table label="Devices" columns={columns} rows={rows} keyOf={({ device_id }) => device_id} />
      )}
      {rest.error && <Failure error={rest.error} retry={rest.reload} />}
      <More {...rest} />
    </section>
  );
}

function WhichDevice({ device }: { device: Device }): ReactNode {
  return (
    <>
      <bdi className="strong">{device.device_name ?? 'Device without a name'}</bdi>
      <span className="second" title={device.user_agent ?? undefined}>
        {programOf(device)}
      </span>
    </>
  );
}

function DeviceState({ device: { online, signed_in } }: { device: Device }): ReactNode {
  if (!signed_in) return <span className="state">Signed out</span>; // its socket may need a second to close
  return online ? <span className="state good">Online</span> : <span className="state">Signed in</span>;
}

function SignOut({
  device: { device_id, device_name },
  path,
  name,
  reload,
}: {
  device: Device;
  path: string;
  name: string;
  reload: () => void;
}): ReactNode {
  return (
    <Action
      label="Sign out"
      subject={device_name ?? device_id}
      isSmall
      question="Sign out this device?"
      yes="Sign out"
      run={async () => {
        const { sessions } = await call<{ sessions: number }>(`${path}/sign-out`, 'POST', { device_id });
        reload();
        return ended(sessions);
      }}
    >
      All sessions of <bdi className="strong">{name}</bdi> on{' '}
      <bdi className="strong">{device_name ?? 'this device'}</bdi> end at once.
    </Action>
  );
}
