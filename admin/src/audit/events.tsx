import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useOwnId } from '../api/session.js';
import type { AuditEvent } from '../api/types.js';
import { Facts } from '../parts/facts.js';
import { columnsOf, Table, type Column } from '../parts/table.js';
import { When } from '../parts/text.js';
import { EVENT_NAMES, reasonOf } from './event-names.js';

const TIME: Column<AuditEvent> = { id: 'at', title: 'Time', cell: ({ at }) => <When at={at} isExact /> };
const USER: Column<AuditEvent> = { id: 'user', title: 'User', cell: (event) => <WhichUser event={event} /> };
const REST: readonly Column<AuditEvent>[] = [
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
      details={details}
      isOld={isOld}
    />
  );
}

/** Events that are no refusal, and not as they should be. */
const WARNINGS = new Set(['session_lost', 'webhook_paused', 'webhook_event_set_aside']);

function What({ event }: { event: AuditEvent }): ReactNode {
  const { result, error } = event;
  const reason = reasonOf(event);
  return (
    <>
      <span
        className={`state ${result === 'refused' ? 'bad' : WARNINGS.has(event.event) ? 'warning' : 'good'}`}
      >
        <span className="strong">{EVENT_NAMES[event.event] ?? event.event}</span>
      </span>
      {(error ?? reason) && (
        <span className="second">
          {error && <code>{error}</code>} {reason && <bdi>{reason}</bdi>}
        </span>
      )}
    </>
  );
}

/** What else the service knows of an event. */
function details(event: AuditEvent): ReactNode {
  return (
    <Facts
      rows={[
        ['Event', <code key="">{event.event}</code>],
        ['Reason', event.reason && <code>{event.reason}</code>],
        ['Provider', event.provider && <bdi>{event.provider}</bdi>],
        ['User', event.user_id && <code>{event.user_id}</code>],
        ['Session', event.session_id && <code>{event.session_id}</code>],
        ['Device', event.device_id && <code>{event.device_id}</code>],
        ['Browser', event.user_agent && <bdi>{event.user_agent}</bdi>],
        ['Request', event.request_id && <code>{event.request_id}</code>],
      ]}
    />
  );
}

function WhichUser({ event: { user_id, provider_user_id } }: { event: AuditEvent }): ReactNode {
  const name = <bdi>{provider_user_id ?? user_id}</bdi>;
  if (!user_id) return provider_user_id ? name : <span className="soft">–</span>;
  return <Link href={`/users/${user_id}`}>{name}</Link>;
}

const ACTORS: Readonly<Record<string, string>> = {
  user: 'User',
  service_key: 'Service key',
  provider: 'Provider',
  system: 'Service',
};

function By({ event: { actor, user_id } }: { event: AuditEvent }): ReactNode {
  const ownId = useOwnId();
  if (actor.type === 'user' && actor.name === ownId) return 'You';
  if (actor.type === 'user' && actor.name === user_id) return 'The user';
  if (actor.type === 'user' && actor.name)
    return (
      <Link href={`/users/${actor.name}`}>
        Administrator <bdi className="second">{actor.name.slice(0, 8)} …</bdi>
      </Link>
    );
  return (
    <span>
      {ACTORS[actor.type] ?? actor.type} {actor.name && <bdi>{actor.name}</bdi>}
    </span>
  );
}
