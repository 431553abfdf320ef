import { useId, useRef, type ReactNode, type RefObject } from 'react';
import { call } from '../api/api.js';
import type { Device, Session } from '../api/types.js';
import { Action } from '../parts/action.js';
import { programOf, When } from '../parts/text.js';
import { ended } from './ended.js';
import { nameOfDevice, shortId } from './which-device.js';

/** Sessions that the question lists. */
const LISTED = 5;

/**
 * Signs a device out. Sessions without a device may be in the same browser, which the service does not know: the question lists
 * them, and ends them on demand.
 */
export function SignOutDevice({
  device,
  path,
  name,
  loose,
  isPart,
  reload,
}: {
  device: Device;
  path: string;
  name: string;
  /** Sessions without a device in such a browser. */
  loose: readonly Session[];
  /** Whether more sessions are stored than are loaded. */
  isPart: boolean;
  reload: () => void;
}): ReactNode {
  const box = useRef<HTMLInputElement>(null);
  const { device_id } = device;
  const signOut = async (body: object): Promise<number> =>
    (await call<{ sessions: number }>(`${path}/sign-out`, 'POST', body)).sessions;
  const run = async (): Promise<string> => {
    const others = box.current?.checked ? loose : [];
    let count = await signOut({ device_id });
    for (const { session_id } of others) count += await signOut({ session_id });
    reload();
    return ended(count);
  };
  return (
    <Action
      label="Sign out"
      subject={`${nameOfDevice(device)} ${shortId(device_id)}`}
      isSmall
      question="Sign out this device?"
      yes="Sign out"
      run={run}
    >
      <p>
        All sessions of <bdi className="strong">{name}</bdi> on{' '}
        <bdi className="strong">{device.device_name ?? 'this device'}</bdi> end at once.
      </p>
      {loose.length > 0 && <LooseSessions sessions={loose} isPart={isPart} box={box} />}
    </Action>
  );
}

function LooseSessions({
  sessions,
  isPart,
  box,
}: {
  sessions: readonly Session[];
  isPart: boolean;
  box: RefObject<HTMLInputElement | null>;
}): ReactNode {
  const about = useId();
  const [count, isOne] = [sessions.length, sessions.length === 1];
  return (
    <div className="loose">
      <p id={about}>
        {isPart ? 'At least ' : ''}
        <span className="strong">
          {count} {isOne ? 'session' : 'sessions'} without a device in the same browser
        </span>{' '}
        {isOne ? 'stays' : 'stay'} signed in. The browser may be one of another computer: compare address and
        last use.
      </p>
      <ul>
        {sessions.slice(0, LISTED).map((session) => (
          <li key={session.session_id}>
            {programOf(session)}, {session.address ?? 'address unknown'}, <When at={session.last_used_at} />
          </li>
        ))}
        {count > LISTED && <li>and {count - LISTED} more</li>}
      </ul>
      <label>
        <input ref={box} type="checkbox" aria-describedby={about} /> End{' '}
        {isOne ? 'this session' : `these ${count} sessions`}, too
      </label>
    </div>
  );
}

/** Sessions without a device, by browser and system of any version: browsers update themselves. */
export function looseSessions(sessions: readonly Session[]): ReadonlyMap<string, readonly Session[]> {
  const loose = new Map<string, Session[]>();
  for (const session of sessions) {
    const kind = kindOf(session);
    if (session.device_id !== null || kind === '') continue;
    const others = loose.get(kind);
    if (others) others.push(session);
    else loose.set(kind, [session]);
  }
  return loose;
}

/** Browser and system without versions; empty if the browser is unknown. */
export function kindOf({ browser, os }: Pick<Device, 'browser' | 'os'>): string {
  const names = [browser, os].map((text) => text?.replace(/ [\d./]+$/, ''));
  return browser === null ? '' : names.join(' on ');
}
