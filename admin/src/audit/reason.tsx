import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { AuditEvent } from '../api/types.js';
import { When } from '../parts/text.js';
import { CAUSES } from './event-names.js';
import { trailOf } from './filter-names.js';

/** Events whose reason says who has ended a session, and when (docs/audit.md#the-audit-trail). */
const ENDS = new Set(['sign_out', 'device_removed', 'refresh_refused']);
const END =
  /^(?<verb>ended|expired|lost)?(?: ?by (?<who>.+?))?(?: at (?<at>\d{4}-\d\d-\d\dT[\d:.]+Z))?(?:: (?<cause>.*))?$/;
const WHO = /^(?<kind>device|session|user) (?<id>[\da-f-]{36})$/;

const VERBS: Readonly<Record<string, string>> = { ended: 'Ended', expired: 'Expired', lost: 'Lost' };

/** The reason of an event; of the end of a session in words, with names. */
export function Reason({ event }: { event: AuditEvent }): ReactNode {
  const { reason = '' } = event;
  const end = ENDS.has(event.event) ? END.exec(reason)?.groups : undefined;
  if (!end || !(end['who'] || end['at'])) return <bdi>{causeOf(event.event, reason)}</bdi>;
  const { verb = '', who, at, cause } = end;
  return (
    <span>
      {VERBS[verb]}{' '}
      {who && (
        <>
          {verb ? 'by' : 'By'} <Who text={who} name={event.ended_by_name} />
        </>
      )}
      {at && (
        <>
          , <When at={at} isExact />
        </>
      )}
      {cause && <>: {CAUSES[cause] ?? <bdi>{cause}</bdi>}</>}
    </span>
  );
}

function causeOf(event: string, reason: string): string {
  return event === 'sign_out' ? (CAUSES[reason] ?? reason) : reason;
}

/** Who has ended a session: a device, a session or a user as a link, else as the service names it. */
function Who({ text, name }: { text: string; name: string | undefined }): ReactNode {
  const { kind, id } = WHO.exec(text)?.groups ?? {};
  if (!kind || !id) return <bdi>{text}</bdi>;
  const shown = name ? <bdi>{name}</bdi> : <code>{id.slice(0, 8)} …</code>;
  const href = kind === 'user' ? `/users/${id}` : trailOf({ [`${kind}_id`]: id });
  return (
    <>
      {kind === 'user' ? 'administrator' : kind} <Link href={href}>{shown}</Link>
    </>
  );
}
