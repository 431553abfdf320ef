import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { AuditEvent } from '../api/types.js';
import { Facts } from '../parts/facts.js';
import { explain } from './error-texts.js';
import { CHIPS, trailOf } from './filter-names.js';

/** Why an event has an id and no user; of a removed one only the id is kept. */
export function noUser({ provider_user_id }: AuditEvent): string {
  return provider_user_id ? 'Has no user here: never signed in.' : 'Only the id is kept.';
}

/** What else the service knows of an event; each id, the address and the error is a link to all events with it. */
export function EventDetails({ event }: { event: AuditEvent }): ReactNode {
  const text = event.error === undefined ? undefined : explain(event.error, event.event, event.reason);
  return (
    <Facts
      rows={[
        ['Event', <code key="">{event.event}</code>],
        ['Error', event.error && <Value event={event} name="error" />],
        ['Meaning', text?.means],
        ['Tell the caller', text && <q>{text.say}</q>],
        ['Reason', event.reason && <code>{event.reason}</code>],
        ['Provider', event.provider && <bdi>{event.provider}</bdi>],
        ['Id there', event.provider_user_id && <code>{event.provider_user_id}</code>],
        [
          'User',
          event.user_id && (
            <>
              <Value event={event} name="user_id" /> {event.no_user && noUser(event)}
            </>
          ),
        ],
        ['Session', event.session_id && <Value event={event} name="session_id" />],
        ['Device', event.device_id && <Value event={event} name="device_id" />],
        ['Address', event.address && <Value event={event} name="address" />],
        ['Browser', event.user_agent && <bdi>{event.user_agent}</bdi>],
        ['Request', event.request_id && <Value event={event} name="request_id" />],
      ]}
    />
  );
}

type Name = Exclude<keyof typeof CHIPS, 'new_device' | 'new_network'>;

function Value({ event, name }: { event: AuditEvent; name: Name }): ReactNode {
  const value = event[name]!;
  return (
    <Link
      href={trailOf({ [name]: value })}
      aria-label={`Events with the ${CHIPS[name].toLowerCase()} ${value}`}
    >
      <code>{value}</code>
    </Link>
  );
}
