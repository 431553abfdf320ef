import { CALM_MS, type Disturbances } from '../disturbances.js';
import type { Call, Closed, Connect, HistoryEntry, Refresh, TokenName } from '../operation.js';
import { tokenCall, type Sessions, type TokenCall } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

type Ending = HistoryEntry & Call;

/**
 * After a sign-out or a removal was acknowledged, instances accept no later call. Within a second `verify()` refuses, sockets are closed,
 * and tokens of a revoked key are refused (docs/reliability.md#rules-of-a-history). `Disturbances` says what extends the second.
 */
export function acceptedAfterEnd(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  disturbances: Disturbances,
  checked: Checked,
): Violation[] {
  const violations: Violation[] = [];
  const add = (text: string, ...shown: readonly (HistoryEntry | undefined)[]): void => {
    const found = shown.filter((entry) => entry !== undefined);
    violations.push({ rule: 'accepted after its end', text, entries: found });
  };
  const firstRefusals = refusalsOf(entries);
  const open = new Map<number, Connect>();
  for (const entry of entries) {
    if (entry.kind === 'refresh') called(entry, entry.session);
    const call = tokenCall(entry);
    if (call) {
      called(call, call.token.session);
      withKey(call);
      expired(call);
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

  function called(entry: Ending, session: string): void {
    const ended = sessions.lives.get(session)?.ended;
    if (ended && ended.ended < entry.begun) {
      const known = dueAt(entry, ended.ended);
      const late = entry.outcome === 'ok' ? entry.begun - ended.ended : 0;
      if (entry.outcome !== 'ok' || entry.begun <= known)
        checked.note(entry.kind, late, disturbances.isCalm(ended.ended));
      else
        add(`${entry.kind} of session ${session}, signed out ${since(ended, entry)} earlier`, ended, entry);
    }
    const refused = firstRefusals.get(session);
    if (entry.outcome === 'ok' && refused && entry.begun > dueAt(entry, refused.ended)) {
      add(`${entry.kind} of session ${session}, which had been refused before`, refused, entry);
    }
  }

  function withKey(call: TokenCall): void {
    const revoked = revocationOf(call.token, sessions);
    if (call.outcome !== 'ok' || !revoked || call.begun <= disturbances.knownAfterFaultsAt(revoked.ended))
      return;
    add(`${call.kind} with key ${call.token.kid}, revoked ${since(revoked, call)} earlier`, revoked, call);
  }

  function expired(call: TokenCall): void {
    const token = sessions.tokens.get(call.token.jti);
    if (call.outcome !== 'ok' || !token) return;
    const late = call.begun - (token.by.ended + token.expiresIn * 1000);
    if (late > CALM_MS)
      add(`${call.kind} with a token that expired ${late.toFixed(0)} ms earlier`, token.by, call);
  }

  /** APIs read the feed, which takes time; instances read the database for each call. */
  function dueAt({ kind }: Ending, moment: number): number {
    return kind === 'verify' ? disturbances.knownAt(moment) : moment;
  }

  function closedInTime(connect: Connect | undefined, closed: Closed | undefined): void {
    if (!connect) return; // closed before it was ready
    const { instance, token } = connect;
    for (const ending of [sessions.lives.get(token.session)?.ended, revocationOf(token, sessions)]) {
      const from = Math.max(ending?.ended ?? Infinity, connect.ended);
      const at = closed?.ended ?? end;
      if (!ending || at < from) continue;
      if (at <= disturbances.knownAfterFaultsAt(from, instance)) {
        checked.note(
          ending.kind === 'key' ? 'socket, key' : 'socket',
          at - from,
          disturbances.isCalm(from, instance),
        );
        continue;
      }
      const what = ending.kind === 'key' ? 'key' : 'session';
      add(
        `socket ${connect.socket} was open ${(at - from).toFixed(0)} ms after the end of its ${what}`,
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
function revocationOf({ kid }: TokenName, { revocations }: Sessions): Ending | undefined {
  const acknowledged = (revocations.get(kid) ?? []).filter(({ outcome }) => outcome === 'ok');
  return acknowledged.toSorted((a, b) => a.ended - b.ended)[0];
}

function since(earlier: Call, later: Call): string {
  return `${(later.begun - earlier.ended).toFixed(0)} ms`;
}
