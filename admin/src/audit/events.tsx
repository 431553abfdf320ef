import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useOwnId } from '../api/session.js';
import type { AuditEvent } from '../api/types.js';
import { columnsOf, Table, type Column } from '../parts/table.js';
import { programOf, When } from '../parts/text.js';
import { ClaimChanges } from './claim-changes.js';
import { textsOf } from '../features.js';
import { EVENT_NAMES } from './event-names.js';
import { EventDetails, noUser } from './event-details.js';
import { Reason } from './reason.js';

const TIME: Column<AuditEvent> = { id: 'at', title: 'Time', cell: ({ at }) => <When at={at} isExact /> };
const USER: Column<AuditEvent> = { id: 'user', title: 'User', cell: (event) => <WhichUser event={event} /> };
const REST: readonly Column<AuditEvent>[] = [
  { id: 'device', title: 'Device', cell: (event) => <WhichDevice event={event} /> },
  { id: 'address', title: 'Address', cell: ({ address }) => address ?? <span className="soft">–</span> },
  { id: 'actor', title: 'By', cell: (event) => <By event={event} /> },
];
const EVENT: Column<AuditEvent> = { id: 'event', title: 'Event', cell: (event) => <What event={event} /> };

const ALL = columnsOf([EVENT, TIME, USER, ...REST]);
const OF_ONE_USER = columnsOf([EVENT, TIME, ...REST]);

/** Events of the audit trail as a table. */
export function Events({
  events,
  isOfOneUser = false,
  isOld = false,
}: {
  events: readonly AuditEvent[];
  isOfOneUser?: boolean;
  isOld?: boolean;
}): ReactNode {
  return (
    <Table
      label="Events"
      columns={isOfOneUser ? OF_ONE_USER : ALL}
      rows={events}
      keyOf={({ id }) => id}
      details={(event) => <EventDetails event={event} />}
      isOld={isOld}
    />
  );
}

/** Events that are no refusal, and not as they should be. */
const WARNINGS = new Set(['session_lost', 'webhook_paused', 'webhook_event_set_aside']);

function What({ event }: { event: AuditEvent }): ReactNode {
  const { result, error, reason, changes, new_device, new_network } = event;
  return (
    <>
      <span
        className={`state ${result === 'refused' ? 'bad' : WARNINGS.has(event.event) ? 'warning' : 'good'}`}
      >
        <span className="strong">{EVENT_NAMES[event.event] ?? event.event}</span>
      </span>
      {(new_device || new_network) && (
        <span className="tags">
          {new_device && <span className="tag mark">New device</span>}
          {new_network && <span className="tag mark">New network</span>}
        </span>
      )}
      {(error ?? reason) && (
        <span className="second">
          {error && <code>{error}</code>} {reason && <Reason event={event} />}
        </span>
      )}
      {changes && <ClaimChanges changes={changes} />}
    </>
  );
}

function WhichUser({ event }: { event: AuditEvent }): ReactNode {
  const { user_id, provider_user_id, user_name } = event;
  const name = <bdi>{user_name ?? provider_user_id ?? user_id}</bdi>;
  if (!user_id) return provider_user_id ? name : <span className="soft">–</span>;
  if (!event.no_user) return <Link href={`/users/${user_id}`}>{name}</Link>;
  return (
    <span>
      {provider_user_id ? name : 'A removed user'}
      <span className="second">{noUser(event)}</span>
    </span>
  );
}

function WhichDevice({ event: { device_name, user_agent, browser, os } }: { event: AuditEvent }): ReactNode {
  const isKnown = browser !== undefined || os !== undefined;
  if (!isKnown && !device_name) return <span className="soft">–</span>;
  return (
    <span title={user_agent}>
      {device_name && <bdi>{device_name}</bdi>}
      {isKnown && <span className={device_name ? 'second' : ''}>{programOf({ browser, os })}</span>}
    </span>
  );
}

const ACTORS: Readonly<Record<string, string>> = {
  user: 'User',
  service_key: 'Service key',
  provider: 'Provider',
  system: 'Service',
  ...textsOf('actors'),
};

function By({ event: { actor, user_id, actor_user_name } }: { event: AuditEvent }): ReactNode {
  const ownId = useOwnId();
  if (actor.type === 'user' && actor.name === ownId) return 'You';
  if (actor.type === 'user' && actor.name === user_id) return 'The user';
  if (actor.type === 'user' && actor.name)
    return (
      <Link href={`/users/${actor.name}`}>
        Administrator <bdi className="second">{actor_user_name ?? `${actor.name.slice(0, 8)} …`}</bdi>
      </Link>
    );
  return (
    <span>
      {ACTORS[actor.type] ?? actor.type} {actor.name && <bdi>{actor.name}</bdi>}
    </span>
  );
}
