import { latestEffect, type Disturbances } from '../disturbances.js';
import type { Ends } from '../ends.js';
import { addTo } from '../groups.js';
import {
  FINAL,
  type HistoryEntry,
  type Refresh,
  type SignIn,
  type SignOut,
  type Stored,
} from '../operation.js';
import type { SessionLife, Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

const CLOCKS_MS = 100;
const COMMIT_MS = 5000;

/** What is known of one user's device. */
interface OfDevice {
  /** Its sessions that were acknowledged. */
  readonly sessions: SessionLife[];
  /** Its `device.signed_in` and `device.signed_out`. */
  readonly events: Stored[];
}

interface Known {
  readonly disturbances: Disturbances;
  /** Sign-ins on it without an answer that may have made a session. */
  readonly unanswered: readonly SignIn[];
  readonly signOuts: readonly SignOut[];
  /** Sessions that lived at the end. */
  readonly alive: ReadonlySet<string>;
  readonly ends: Ends;
  readonly checked: Checked;
}

type Found = Omit<Violation, 'rule'>;

/**
 * docs/realtime.md#what-the-service-sends: `device.signed_in` once for each session that begins on a device, and `device.signed_out` when none of its
 * sessions lives any more, and only then.
 */
export function* wrongDeviceEvents(
  entries: readonly HistoryEntry[],
  { lives, ends, merges }: Sessions,
  disturbances: Disturbances,
  checked: Checked,
): Generator<Violation> {
  const alive = new Set<string>();
  const devices = new Map<string, OfDevice>();
  const signOuts = new Map<string, SignOut[]>();
  const unanswered = new Map<string, SignIn[]>();
  const answered = new Set<string>();
  const of = (user: string, device: string): OfDevice => {
    const key = `${user} ${device}`;
    const known = devices.get(key) ?? { sessions: [], events: [] };
    devices.set(key, known);
    return known;
  };
  for (const life of lives.values()) if (life.device !== null) of(life.user, life.device).sessions.push(life);
  for (const entry of entries) {
    if (entry.kind === 'stored' && entry.of && entry.event !== 'device.renamed')
      of(entry.user, entry.of.device).events.push(entry);
    if (entry.kind === 'refresh' && entry.client === FINAL && entry.outcome === 'ok')
      alive.add(entry.session);
    if (entry.kind === 'sign-out' && entry.outcome === 'ok') addTo(signOuts, entry.user, entry);
    if (entry.kind !== 'sign-in') continue;
    if (entry.outcome === 'ok') answered.add(entry.state);
    else if (entry.outcome === 'unknown' && entry.device !== null) addTo(unanswered, entry.device, entry);
  }
  for (const [key, ofDevice] of devices) {
    const [user, device] = key.split(' ') as [string, string];
    if (merges.mayBeGone(user)) continue; // and the history with the user
    ofDevice.sessions.sort((a, b) => a.signIn.begun - b.signIn.begun);
    ofDevice.events.sort((a, b) => a.offset - b.offset);
    const found = judge(ofDevice, device, {
      disturbances,
      unanswered: (unanswered.get(device) ?? []).filter(({ state }) => !answered.has(state)),
      signOuts: signOuts.get(user) ?? [],
      alive,
      ends,
      checked,
    });
    for (const { text, entries: shown } of found)
      yield { rule: 'delivered wrongly', text: `${text} (user and device ${key})`, entries: shown };
  }
}

function* judge({ sessions, events }: OfDevice, device: string, known: Known): Generator<Found> {
  const { unanswered, alive, checked } = known;
  const begins = events.filter(({ event }) => event === 'device.signed_in').length;
  if (begins < sessions.length || begins > sessions.length + unanswered.length) {
    const text = `${begins} device.signed_in for ${sessions.length} sign-ins, and ${unanswered.length} without an answer`;
    yield { text, entries: sessions.slice(0, 1).map(({ signIn }) => signIn) };
    return;
  }
  const last = events.at(-1);
  const living = sessions.find(({ signIn }) => alive.has(signIn.issued!.session));
  if (living && last?.event === 'device.signed_out')
    yield { text: 'device.signed_out, and a session lives', entries: [living.signIn, last] };
  if (events.some(({ at }) => at === undefined)) return;
  for (const { moment, ending } of emptyMoments(sessions, device, known)) {
    const before = events.filter(({ at }) => at! <= moment + CLOCKS_MS).at(-1);
    checked.emptyDevices++;
    if (before?.event === 'device.signed_out') continue;
    const text = 'all sessions had ended, and no device.signed_out says so';
    yield { text, entries: before ? [ending, before] : [ending] };
  }
  for (const event of events) {
    if (event.event !== 'device.signed_out') continue;
    const session = sessions.find((one) => livesAround(one, event.at!, known.ends));
    const isCalm = !known.disturbances.overlap({ begun: event.at!, ended: event.at! }, COMMIT_MS);
    if (session && isCalm)
      yield { text: 'device.signed_out, while a session lived', entries: [session.signIn, event] };
  }
}

function* emptyMoments(
  sessions: readonly SessionLife[],
  device: string,
  { unanswered, signOuts, disturbances }: Known,
): Generator<{ moment: number; ending: SignOut | Refresh }> {
  let ending: SignOut | Refresh | undefined;
  for (const [i, { ended }] of sessions.entries()) {
    if (!ended) return;
    if (!ending || ended.ended > ending.ended) ending = ended;
    const moment = ending.ended;
    const quiet = moment + 2 * CLOCKS_MS;
    if ((sessions[i + 1]?.signIn.begun ?? Infinity) <= quiet) continue;
    const isOver = (signIn: SignIn): boolean =>
      signOuts.some(
        (one) =>
          one.begun > latestEffect(signIn, disturbances) && one.ended <= moment && reaches(one, device),
      );
    if (unanswered.every((signIn) => signIn.begun > quiet || isOver(signIn))) yield { moment, ending };
  }
}

/** Whether a sign-out ends every session on a device that there is. */
function reaches({ by, scope, device: own }: SignOut, device: string): boolean {
  if (by === 'consent') return false; // the new session lives
  return scope === 'all' || (scope === 'device' ? own === device : scope === 'others' && own !== device);
}

/** Whether a session had begun for certain, and nothing can have ended it yet when an event of that time was committed. */
function livesAround({ signIn, enders }: SessionLife, at: number, ends: Ends): boolean {
  const isSignedOut = enders.some(({ begun }) => begun <= at + COMMIT_MS);
  if (signIn.ended >= at - CLOCKS_MS || isSignedOut) return false;
  return !ends.mayHaveEnded(signIn.issued!.session, at + COMMIT_MS);
}
