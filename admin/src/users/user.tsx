import { useCallback, useState, type ReactNode } from 'react';
import { flushSync } from 'react-dom';
import useSWR from 'swr';
import { Link } from 'wouter';
import type { ApiError } from '../api/api.js';
import { useMayChange } from '../api/session.js';
import type { AuditEvent, Device, Session, UserDetail } from '../api/types.js';
import { usePages, type Pages } from '../api/use-pages.js';
import { Events } from '../audit/events.js';
import { FEATURES } from '../features.js';
import { Copyable } from '../parts/copy.js';
import { Facts } from '../parts/facts.js';
import { Heading } from '../parts/heading.js';
import { formatNumber } from '../parts/locale.js';
import { Empty, Failure, Loading, More } from '../parts/states.js';
import { Avatar, nameOf, When } from '../parts/text.js';
import { Claims, EffectiveClaims } from './claims.js';
import { Devices } from './devices.js';
import { EarlierRefusals } from './earlier-refusals.js';
import { Sessions } from './sessions.js';
import { Status } from './status.js';
import { useRest } from './use-rest.js';
import { UserActions } from './user-actions.js';
import { goToDevice } from './which-device.js';

const NO_SESSIONS: readonly Session[] = [];
const NO_DEVICES: readonly Device[] = [];

/** A user, with everything that the service knows about them. */
export function User({ userId }: { userId: string }): ReactNode {
  const path = `/users/${encodeURIComponent(userId)}`;
  const { data, error, mutate } = useSWR<UserDetail, ApiError>(path);
  const mayChange = useMayChange();
  const trail = usePages<AuditEvent>(
    data ? `/admin/trail?user_id=${data.user_id}&limit=20` : null,
    'events',
    10,
  );
  const sessions = useRest(path, 'sessions', data?.sessions ?? NO_SESSIONS);
  const devices = useRest(path, 'devices', data?.devices ?? NO_DEVICES);
  const { reload: reloadTrail } = trail;
  const { reload: reloadSessions } = sessions.rest;
  const { reload: reloadDevices } = devices.rest;
  const reload = useCallback(() => {
    void mutate();
    reloadTrail();
    reloadSessions();
    reloadDevices();
  }, [mutate, reloadTrail, reloadSessions, reloadDevices]);
  const [deviceText, setDeviceText] = useState('');
  const showDevice = useCallback((deviceId: string) => {
    flushSync(() => setDeviceText('')); // else the search may hide its row
    goToDevice(deviceId);
  }, []);
  if (!data)
    return (
      <>
        <Heading title="User" />
        <section className="card">
          {error ? <Failure error={error} retry={reload} /> : <Loading what="the user" lines={8} />}
          {error?.mergedInto !== undefined && (
            <p className="hint">
              This person is now part of <Link href={`/users/${error.mergedInto}`}>another user</Link>.
            </p>
          )}
          {error?.status === 404 && error.mergedInto === undefined && (
            <p className="hint">
              Nobody with this id is stored: the person was removed, or has never signed in.{' '}
              <Link href={`/audit?user_id=${userId}`}>What the audit trail has of this id</Link>
            </p>
          )}
        </section>
      </>
    );
  return (
    <>
      <div className="who">
        <Avatar user={data} isLarge />
        <div>
          <Heading title={nameOf(data)}>
            <bdi>{nameOf(data)}</bdi>
          </Heading>
          <Status user={data} />
        </div>
        <UserActions user={data} reload={reload} />
      </div>
      {error && <Failure error={error} retry={reload} />}
      <div className="halves">
        <section className="card" aria-labelledby="profile">
          <h2 id="profile">Profile</h2>
          <Profile user={data} />
        </section>
        <section className="card" aria-labelledby="claims">
          <h2 id="claims">Claims</h2>
          {mayChange ? (
            <Claims path={path} user={data} reload={reload} />
          ) : (
            <EffectiveClaims claims={data.claims} />
          )}
        </section>
      </div>
      {FEATURES.map(({ OfUser }, i) => OfUser && <OfUser key={i} user={data} path={path} reload={reload} />)}
      <Sessions
        path={path}
        user={data}
        list={sessions}
        devices={devices}
        showDevice={showDevice}
        reload={reload}
      />
      <Devices
        path={path}
        user={data}
        list={devices}
        sessions={sessions}
        text={deviceText}
        setText={setDeviceText}
        reload={reload}
      />
      {FEATURES.map(({ deviceList }, i) => {
        const found = deviceList ? devices.rows.filter(deviceList.has) : NO_DEVICES;
        const of = { devices: found, path, name: nameOf(data), reload };
        return deviceList && found.length > 0 && <deviceList.List key={i} {...of} />;
      })}
      <Trail user={data} pages={trail} />
    </>
  );
}

function Profile({ user }: { user: UserDetail }): ReactNode {
  return (
    <Facts
      rows={[
        ['Name', user.username && <bdi>{user.username}</bdi>],
        ['E-mail', user.email && <bdi>{user.email}</bdi>],
        ['Provider', <bdi key="">{user.provider}</bdi>],
        ['Id there', <Copyable key="" value={user.provider_user_id} what="the id at the provider" />],
        ['User id', <Copyable key="" value={user.user_id} what="the user id" />],
        ['Created', <When key="" at={user.created_at} isExact />],
        ['Last seen', <When key="" at={user.last_seen_at} never="has never signed in" />],
        ['Live sessions', formatNumber(user.live_sessions)],
        ...FEATURES.flatMap((feature) => feature.facts?.(user) ?? []),
        ['Suspended', user.suspended_at && <When at={user.suspended_at} isExact />],
      ]}
    />
  );
}

/** The latest events about this user. */
function Trail({ user, pages }: { user: UserDetail; pages: Pages<AuditEvent> }): ReactNode {
  return (
    <section className="card list" aria-labelledby="trail">
      <div className="head">
        <h2 id="trail">Audit</h2>
        <Link href={`/audit?user_id=${user.user_id}`}>With filters, live</Link>
        <EarlierRefusals uses={[...user.sessions, ...user.devices]} />
      </div>
      {pages.rows.length > 0 && <Events events={pages.rows} isOfOneUser />}
      {pages.error && <Failure error={pages.error} retry={pages.reload} />}
      {pages.isLoading && pages.rows.length === 0 && <Loading what="events" />}
      {!pages.isLoading && !pages.error && pages.rows.length === 0 && <Empty>No event is stored.</Empty>}
      <More {...pages} />
    </section>
  );
}
