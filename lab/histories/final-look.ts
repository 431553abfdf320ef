import { setTimeout as delay } from 'node:timers/promises';
import { query } from '../../test/support/database.js';
import { numberOf } from './claims.js';
import { Client, type Shared } from './client.js';
import { FINAL, type Stored, type StoredEnd } from './operation.js';
import type { Listener } from './listener.js';
import type { Person } from './person.js';

const AT_ONCE = 8;
const TRIES = 50;
const AGAIN_MS = 200;
const DRAINED_WITHIN_MS = 30_000;
/** By so many milliseconds the machine's clock may have gone wrong in a run. */
const DRIFT_MS = 50;

interface Row {
  readonly user_id: string;
  readonly event_offset: string;
  readonly id: string;
  readonly event: string;
  readonly data: string;
  readonly device_id: string | null;
  readonly sent_at: Date;
}

/** A user with a socket on some device. */
interface Listening {
  readonly user: string;
  readonly device: string | null;
  readonly listener: Listener;
  /** Its session has ended, and it gets nothing more. */
  readonly isOver?: boolean;
}

/** @param others who listen as well */
export async function lookAtEverything(
  shared: Shared,
  people: readonly Person[],
  others: readonly Listening[],
  databaseUrl: string,
): Promise<void> {
  await Promise.all(people.map((person) => person.settle()));
  const stored = await readStored(databaseUrl, shared);
  for (const event of stored) shared.recorder.record(event);
  for (const end of await readEnds(databaseUrl, shared)) shared.recorder.record(end);
  const all = [...people, ...others];
  await drain(all, stored);
  for (const { listener } of all) listener.stop();
  await askForSessions(shared);
}

/** Reads the events of the run's users. */
async function readStored(databaseUrl: string, { ledger, recorder: { epoch } }: Shared): Promise<Stored[]> {
  const text = `
    SELECT user_id, event_offset, id, event, data, device_id, sent_at FROM channel_events
    WHERE expires_at > now() AND user_id = ANY ($1) ORDER BY user_id, event_offset`;
  const begun = performance.now();
  const rows = await query<Row & Record<string, unknown>>(databaseUrl, text, [[...ledger.users]]);
  const ended = performance.now();
  const isSteady = Math.abs(Date.now() - ended - epoch) < DRIFT_MS;
  return rows.map(({ user_id: user, event_offset, id, event, data, device_id: device, sent_at }) => {
    const carried = JSON.parse(data) as Record<'n' | 'device_id' | 'device_name', string | undefined>;
    const { n, device_id, device_name } = carried;
    return {
      kind: 'stored',
      user,
      device,
      event,
      id,
      offset: Number(event_offset),
      ...(isSteady && { at: sent_at.getTime() - epoch }),
      ...(n !== undefined && { n }),
      ...(event === 'claims.changed' && { claims: numberOf(carried) }),
      ...(event === 'device.renamed' && device_name && { name: device_name }),
      ...(event.startsWith('device.') && { of: { device: device_id!, name: device_name ?? null } }),
      begun,
      ended,
    };
  });
}

/** Reads the idle ends of sessions, also of those that were signed out. */
async function readEnds(databaseUrl: string, { ledger, recorder: { epoch } }: Shared): Promise<StoredEnd[]> {
  const begun = performance.now();
  const rows = await query<{ session_id: string; idle_ends_at: Date }>(
    databaseUrl,
    'SELECT session_id, idle_ends_at FROM refresh_tokens WHERE idle_ends_at IS NOT NULL AND user_id = ANY ($1)',
    [[...ledger.users]],
  );
  const ended = performance.now();
  if (Math.abs(Date.now() - ended - epoch) >= DRIFT_MS) return [];
  return rows.map(({ session_id: session, idle_ends_at }) => {
    return { kind: 'stored-end', session, at: idle_ends_at.getTime() - epoch, begun, ended };
  });
}

/** What has not come by then never comes, as the checker will say. */
async function drain(all: readonly Listening[], stored: readonly Stored[]): Promise<void> {
  const end = performance.now() + DRAINED_WITHIN_MS;
  const lastFor = ({ user, device }: Listening): number =>
    stored.reduce((last, event) => {
      const isFor = event.user === user && (event.device === null || event.device === device);
      return isFor ? Math.max(last, event.offset) : last;
    }, 0);
  for (const one of all) {
    const last = lastFor(one);
    const isBehind = (): boolean => !one.isOver && (one.listener.position?.offset ?? -1) < last;
    while (isBehind() && performance.now() < end) await delay(20);
  }
}

async function askForSessions(shared: Shared): Promise<void> {
  const client = new Client(shared, FINAL);
  const left = [...shared.ledger.sessions];
  const work = async (first: number): Promise<void> => {
    let instance = first;
    const ask = async (one: (instance: number) => Promise<string>): Promise<void> => {
      for (let tries = TRIES; tries > 0; tries--) {
        instance = (instance + 1) % shared.calls.instances;
        if ((await one(instance)) !== 'unknown') return;
        await delay(AGAIN_MS);
      }
    };
    for (let session = left.pop(); session; session = left.pop()) {
      const { token } = session;
      if (session.program === undefined) await ask((at) => client.use(at, token));
      await ask((at) => client.introspect(at, token));
      await ask((at) => client.verify(at % shared.verifiers.length, token));
      await ask((at) => client.refresh(at, session));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => work(i)));
}
