import { useMemo, type ReactNode } from 'react';
import { call } from '../../api/api.js';
import type { Device } from '../../api/types.js';
import type { DeviceListProps } from '../../feature.js';
import { Action } from '../../parts/action.js';
import { columnsOf, Table } from '../../parts/table.js';
import { When } from '../../parts/text.js';
import { deviceDetails } from '../../users/details.js';
import { ended } from '../../users/ended.js';
import { anchorOf } from '../../users/which-device.js';
import { placeOf, WhichProgram } from './which-program.js';

/** The programs that act for a user, and what each may do. */
export function ProgramsOfUser({ devices, path, name, reload }: DeviceListProps): ReactNode {
  const columns = useMemo(
    () =>
      columnsOf<Device>([
        {
          id: 'device',
          title: 'Program',
          cell: ({ device_id, agent }) => (
            <span id={anchorOf(device_id)} className="anchor" tabIndex={-1}>
              <WhichProgram program={agent!} />
            </span>
          ),
        },
        {
          id: 'scope',
          title: 'May',
          cell: ({ agent }) => (
            <span>
              <bdi>{agent!.scope.split(' ').join(', ')}</bdi>
              <bdi className="second">at {placeOf(agent!.resource)}</bdi>
            </span>
          ),
        },
        { id: 'seen', title: 'Last use', cell: ({ last_seen_at }) => <When at={last_seen_at} /> },
        { id: 'created', title: 'Allowed', cell: ({ agent }) => <When at={agent!.allowed_at} isExact /> },
        {
          id: 'actions',
          title: 'Actions',
          cell: (device) => <End device={device} path={path} name={name} reload={reload} />,
        },
      ]),
    [path, name, reload],
  );
  return (
    <section className="card list" aria-labelledby="programs">
      <div className="head">
        <h2 id="programs">Programs that act for the user</h2>
      </div>
      <Table
        label="Programs"
        columns={columns}
        rows={devices}
        keyOf={({ device_id }) => device_id}
        details={deviceDetails}
      />
    </section>
  );
}

function End({
  device: { device_id, agent },
  path,
  name,
  reload,
}: Pick<DeviceListProps, 'path' | 'name' | 'reload'> & { device: Device }): ReactNode {
  const { client_name, resource } = agent!;
  return (
    <Action
      label="End"
      subject={`${client_name} at ${placeOf(resource)}`}
      isSmall
      question="End this program?"
      yes="End the program"
      run={async () => {
        const { sessions } = await call<{ sessions: number }>(`${path}/sign-out`, 'POST', { device_id });
        reload();
        return ended(sessions);
      }}
    >
      <bdi className="strong">{client_name}</bdi> can act for <bdi className="strong">{name}</bdi> at{' '}
      {placeOf(resource)} no more. The user may allow it again.
    </Action>
  );
}
