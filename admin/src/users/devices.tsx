import { useMemo, type ReactNode } from 'react';
import type { Device, Session, UserDetail } from '../api/types.js';
import { isListedByFeature } from '../features.js';
import { formatNumber } from '../parts/locale.js';
import { Empty, Failure, More } from '../parts/states.js';
import { columnsOf, Table } from '../parts/table.js';
import { nameOf, programOf, When } from '../parts/text.js';
import { deviceDetails } from './details.js';
import { Find, fits } from './find.js';
import { kindOf, looseSessions, SignOutDevice } from './sign-out-device.js';
import { WhichDevice } from './which-device.js';
import type { Rest } from './use-rest.js';

/** The devices of a user, newest use first; signed-out ones are folded. */
export function Devices({
  path,
  user,
  list: { rows: all, rest },
  sessions,
  text,
  setText,
  reload,
}: {
  path: string;
  user: UserDetail;
  list: Rest<Device>;
  sessions: Rest<Session>;
  /** Search among the rows. */
  text: string;
  setText: (text: string) => void;
  reload: () => void;
}): ReactNode {
  const name = nameOf(user);
  const rows = all.filter((device) => !isListedByFeature(device));
  const loose = useMemo(() => looseSessions(sessions.rows), [sessions.rows]);
  const isPart = sessions.rest.hasMore;
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
        { id: 'seen', title: 'Last use', cell: ({ last_seen_at }) => <LastUse at={last_seen_at} /> },
        { id: 'created', title: 'First sign-in', cell: ({ created_at }) => <When at={created_at} isExact /> },
        {
          id: 'actions',
          title: 'Actions',
          cell: (device) => {
            const of = { device, path, name, isPart, reload };
            return device.signed_in && <SignOutDevice {...of} loose={loose.get(kindOf(device)) ?? NONE} />;
          },
        },
      ]),
    [path, name, loose, isPart, reload],
  );
  const found = text.trim() === '' ? rows : rows.filter((device) => fits(text.trim(), valuesOf(device)));
  const signedOut = found.filter(({ signed_in }) => !signed_in);
  const signedIn = found.filter(({ signed_in }) => signed_in);
  const table = { columns, keyOf, details: deviceDetails };
  return (
    <section className="card list" aria-labelledby="devices">
      <div className="head">
        <h2 id="devices">Devices</h2>
        <Find label="Find a device" count={rows.length} text={text} setText={setText} />
      </div>
      {rows.length === 0 && <Empty>This user has no devices.</Empty>}
      {rows.length > 0 && found.length === 0 && <Empty>No loaded device fits.</Empty>}
      {signedIn.length > 0 && <Table label="Devices" rows={signedIn} {...table} />}
      {signedOut.length > 0 && (
        <details className="folded" open={text !== ''}>
          <summary>
            {formatNumber(signedOut.length)}
            {rest.hasMore && ' or more'} signed-out {signedOut.length === 1 ? 'device' : 'devices'}
          </summary>
          <Table label="Signed-out devices" rows={signedOut} {...table} />
        </details>
      )}
      {rest.error && <Failure error={rest.error} retry={rest.reload} />}
      <More {...rest} label={found.length === 0 ? 'Search further' : 'Load more'} />
    </section>
  );
}

const NONE: readonly Session[] = [];
const keyOf = ({ device_id }: Device): string => device_id;
const valuesOf = (device: Device): (string | null)[] => [
  device.device_name,
  programOf(device),
  device.address,
  device.device_id,
];

/** A time as a distance and exactly: a person on the phone may know either. */
function LastUse({ at }: { at: string }): ReactNode {
  return (
    <span>
      <When at={at} />
      <span className="second">
        <When at={at} isExact />
      </span>
    </span>
  );
}

function DeviceState({ device: { online, signed_in } }: { device: Device }): ReactNode {
  if (!signed_in) return <span className="state">Signed out</span>; // its socket may need a second to close
  return online ? <span className="state good">Online</span> : <span className="state">Signed in</span>;
}
