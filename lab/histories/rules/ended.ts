import type { Disturbances } from '../disturbances.js';
import type { Call, Closed, Connect, HistoryEntry, Refresh, TokenName } from '../operation.js';
import { BOUND_MS, tokenCall, type Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';

/**
 * Within how many milliseconds instances must have done what they do by a timer. The documents say 1000 for
 * both; more is for machines on which three instances, two databases and the clients share two processors
 * with other tests.
 */
export interface Patience {
  /** Sockets of a session that was signed out, or of a key that was withdrawn, are closed. */
  readonly socketsMs: number;
  readonly keysMs: number;
  readonly deliveredMs: number;
}

/**
 * After a sign-out, a removal or the revocation of a key was acknowledged, no call that began more than a
 * second later is accepted, and sockets are closed. `Disturbances` says what suspends the bound.
 */
export function acceptedAfterEnd(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  disturbances: Disturbances,
  patience: Patience,
): Violation[] {
  const violations: Violation[] = [];
  const add = (text: string, ...shown: readonly (HistoryEntry | undefined)[]): void => {
    const found = shown.filter((entry) => entry !== undefined);
    violations.push({ rule: 'accepted after its end', text, entries: found });
  };
  const acceptedFor = (entry: HistoryEntry & Call, session: string): void => {
    const ended = sessions.lives.get(session)?.ended;
    if (ended && entry.begun > disturbances.dueAt(entry.instance, ended.ended, BOUND_MS)) {
      add(`${entry.kind} of session ${session}, signed out ${since(ended, entry)} earlier`, ended, entry);
    }
    const refused = firstRefusals.get(session);
    if (refused && entry.begun > refused.ended + BOUND_MS) {
      add(`${entry.kind} of session ${session}, which had been refused before`, refused, entry);
    }
  };
  const firstRefusals = refusalsOf(entries);
  const open = new Map<number, Connect>();
  for (const entry of entries) {
    if (entry.kind === 'refresh' && entry.outcome === 'ok') acceptedFor(entry, entry.session);
    const call = tokenCall(entry);
    if (call?.outcome === 'ok') {
      acceptedFor(call, call.token.session);
      const revoked = revocationOf(call.token, sessions);
      if (revoked && call.begun > disturbances.dueAt(call.instance, revoked.ended, patience.keysMs)) {
        add(
          `${call.kind} with key ${call.token.kid}, withdrawn ${since(revoked, call)} earlier`,
          revoked,
          call,
        );
      }
    }
    if (entry.kind === 'connect' && entry.outcome === 'ok') open.set(entry.socket, entry);
    if (entry.kind === 'closed') {
      closedInTime(open.get(entry.socket), entry);
      open.delete(entry.socket);
    }
  }
  const end = entries.reduce((latest, { ended }) => Math.max(latest, ended), 0);
  for (const connect of open.values()) closedInTime(connect, undefined);
  return violations;

  function closedInTime(connect: Connect | undefined, closed: Closed | undefined): void {
    if (!connect) return; // closed before it was ready
    const { instance, token } = connect;
    for (const ending of [sessions.lives.get(token.session)?.ended, revocationOf(token, sessions)]) {
      if (!ending) continue;
      const from = Math.max(ending.ended, connect.ended);
      if ((closed?.ended ?? end) <= disturbances.dueAt(instance, from, patience.socketsMs, 'clients'))
        continue;
      add(
        `socket ${connect.socket} was open long after the end of its ${ending.kind === 'key' ? 'key' : 'session'}`,
        connect,
        ending,
        closed,
      );
    }
  }
}

/** The first refresh of each session that was refused. */
function refusalsOf(entries: readonly HistoryEntry[]): Map<string, Refresh> {
  const first = new Map<string, Refresh>();
  for (const entry of entries) {
    if (entry.kind !== 'refresh' || entry.error !== 'invalid_grant') continue;
    const known = first.get(entry.session);
    if (!known || entry.ended < known.ended) first.set(entry.session, entry);
  }
  return first;
}

/** The first acknowledged one of the token's key. */
function revocationOf({ kid }: TokenName, { revocations }: Sessions): (HistoryEntry & Call) | undefined {
  const acknowledged = (revocations.get(kid) ?? []).filter(({ outcome }) => outcome === 'ok');
  return acknowledged.toSorted((a, b) => a.ended - b.ended)[0];
}

function since(earlier: Call, later: Call): string {
  return `${(later.begun - earlier.ended).toFixed(0)} ms`;
}
