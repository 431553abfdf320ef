import type { HistoryEntry, Stored } from '../operation.js';
import type { SessionLife, Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';
import { FINAL } from './kept.js';

/** What is known of one user's device. */
interface OfDevice {
  /** Its sessions that were acknowledged. */
  readonly sessions: SessionLife[];
  /** Its `device.signed_in` and `device.signed_out`. */
  readonly events: Stored[];
}

/**
 * Contract §7: `device.signed_in` once for each session that begins on a device, and `device.signed_out` when none of its
 * sessions lives any more, and only then.
 */
export function* wrongDeviceEvents(
  entries: readonly HistoryEntry[],
  { lives }: Sessions,
): Generator<Violation> {
  const unanswered = new Map<string, { count: number; first: number }>();
  const alive = new Set<string>();
  const devices = new Map<string, OfDevice>();
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
    if (entry.kind !== 'sign-in' || entry.outcome !== 'unknown' || entry.device === null) continue;
    const { count, first } = unanswered.get(entry.device) ?? { count: 0, first: Infinity };
    unanswered.set(entry.device, { count: count + 1, first: Math.min(first, entry.begun) });
  }
  for (const [key, { sessions, events }] of devices) {
    sessions.sort((a, b) => a.signIn.begun - b.signIn.begun);
    events.sort((a, b) => a.offset - b.offset);
    const found = (text: string, ...shown: readonly (HistoryEntry | undefined)[]): Violation => ({
      rule: 'delivered wrongly',
      text: `${text} (user and device ${key})`,
      entries: shown.filter((entry) => entry !== undefined),
    });
    const { count, first } = unanswered.get(key.slice(key.indexOf(' ') + 1)) ?? { count: 0, first: Infinity };
    const begins = events.flatMap(({ event }, place) => (event === 'device.signed_in' ? [place] : []));
    if (begins.length < sessions.length || begins.length > sessions.length + count) {
      const text = `${begins.length} device.signed_in for ${sessions.length} sign-ins, and ${count} without an answer`;
      yield found(text, sessions[0]?.signIn);
      continue;
    }
    const last = events.at(-1);
    const living = sessions.find(({ signIn }) => alive.has(signIn.issued!.session));
    if (living && last?.event === 'device.signed_out')
      yield found('device.signed_out, and a session lives', living.signIn, last);
    for (const { before, next } of pauses(sessions, first)) {
      const between = events.slice(begins[before - 1], begins[before]);
      if (between.some(({ event }) => event === 'device.signed_out')) continue;
      yield found('all sessions had ended, and no device.signed_out says so', between[0], next.signIn);
    }
  }
}

/**
 * The times in which no session of a device lived: as many had begun `before`, and all were signed out when the `next` one began.
 *
 * @param sessions in the order in which their sign-ins began
 * @param until when the first sign-in began of which nobody knows whether it made a session
 */
function* pauses(
  sessions: readonly SessionLife[],
  until: number,
): Generator<{ before: number; next: SessionLife }> {
  let allEnded = -Infinity;
  for (const [before, next] of sessions.entries()) {
    if (next.signIn.begun >= until) return;
    if (before > 0 && allEnded < next.signIn.begun) yield { before, next };
    allEnded = Math.max(allEnded, next.ended?.ended ?? Infinity);
  }
}
