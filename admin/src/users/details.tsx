import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Device, Session } from '../api/types.js';
import { Copyable } from '../parts/copy.js';
import { Facts } from '../parts/facts.js';
import { When } from '../parts/text.js';
import { refusals } from './earlier-refusals.js';

/** What else is known of a device. */
export function deviceDetails({ device_id, user_agent }: Device): ReactNode {
  return (
    <Facts
      rows={[
        ['Device', <Copyable key="" value={device_id} what="the device id" />],
        ['Browser', user_agent && <bdi>{user_agent}</bdi>],
        [
          'Audit',
          <span key="" className="links">
            <Link href={`/audit?device_id=${device_id}`}>Events of this device</Link>
            <Link href={refusals({ device_id })}>Refused sign-ins of this device</Link>
          </span>,
        ],
      ]}
    />
  );
}

/** What else is known of a session. */
export function sessionDetails({ session_id, device_id, user_agent, auth_time, bound }: Session): ReactNode {
  return (
    <Facts
      rows={[
        ['Session', <Copyable key="" value={session_id} what="the session id" />],
        ['Device', device_id ? <code>{device_id}</code> : 'The application named none at the sign-in'],
        ['Browser', user_agent && <bdi>{user_agent}</bdi>],
        ['Login', auth_time && <When key="" at={auth_time} isExact />],
        ['Bound', bound ? 'to a key of the browser or application' : 'no'],
        [
          'Audit',
          <Link key="" href={`/audit?session_id=${session_id}`}>
            Events of this session
          </Link>,
        ],
      ]}
    />
  );
}
