import { UNWRITTEN_MS, type Ends } from '../ends.js';
import { addTo } from '../groups.js';
import type { Limits } from '../limits.js';
import type { HistoryEntry, Refresh } from '../operation.js';
import type { SessionLife, Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

/** `REFRESH_TOKEN_TTL` */
const SESSION_S = 2_592_000;
const ROUNDED_S = 1.2;

/** What docs/guides/session-length.md#idle and #number-of-sessions promise, besides the rules of all sessions. */
export function againstLimits(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  limits: Limits,
  checked: Checked,
): Violation[] {
  return [
    ...wrongEnds(entries, sessions, limits, checked),
    ...usedWhenIdle(entries, sessions, limits, checked),
    ...tooManyLive(sessions, limits, checked),
    ...tooManyEnded(entries, sessions, limits, checked),
  ];
}

/** An answer names the ends exactly, its token ends before the session, and the stored end is that of the newest report. */
function* wrongEnds(
  entries: readonly HistoryEntry[],
  { ends, lives }: Sessions,
  { idleTtl }: Limits,
  checked: Checked,
): Generator<Violation> {
  for (const entry of entries) {
    if ((entry.kind === 'sign-in' || entry.kind === 'refresh') && entry.issued) {
      const { expiresIn, idleExpiresIn, sessionExpiresIn = NaN, session } = entry.issued;
      const left = idleTtl - ((entry.kind === 'refresh' && entry.idleFor) || 0);
      const found = (text: string): Violation => ({ rule: 'wrong end', text, entries: [entry] });
      checked.count('answers');
      if (idleExpiresIn !== left)
        yield found(`${entry.kind} names ${idleExpiresIn} s to the idle end, not ${left}`);
      if (expiresIn > left) yield found(`a token lives ${expiresIn} s, its session ${left} s`);
      const begin = lives.get(session)?.signIn ?? entry;
      const [least, most] = [entry.begun - begin.ended, entry.ended - begin.begun].map((ms) => ms / 1000);
      const age = SESSION_S - sessionExpiresIn;
      if (!(age > least! - ROUNDED_S && age < most! + ROUNDED_S))
        yield found(`${entry.kind} names ${sessionExpiresIn} s to the end of the session`);
    }
    if (entry.kind === 'stored-end') {
      const last = ends.lastBefore(entry.session, entry.begun);
      if (last.length === 0) continue; // of a sign-in without an answer
      checked.count('stored ends');
      const isOf = last.some(
        ({ earliestEnd, latestEnd }) =>
          entry.at >= earliestEnd - UNWRITTEN_MS && entry.at <= latestEnd + UNWRITTEN_MS,
      );
      if (isOf) continue;
      const late = (entry.at - last.at(-1)!.latestEnd).toFixed(0);
      const text = `the stored end of session ${entry.session} differs by ${late} ms from the reported one`;
      yield { rule: 'wrong end', text, entries: [...last.map(({ by }) => by), entry] };
    }
  }
}

/** A refresh after the idle end, or with a report beyond the limit, is refused. */
function* usedWhenIdle(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  { idleTtl }: Limits,
  checked: Checked,
): Generator<Violation> {
  const { ends } = sessions;
  for (const entry of entries) {
    if (entry.kind !== 'refresh') continue;
    const { session, idleFor = 0, outcome, begun } = entry;
    const isBeyond = idleFor >= idleTtl;
    const before = ends.lastBefore(session, begun);
    const isIdle = before.length > 0 && before.every(({ latestEnd }) => latestEnd + UNWRITTEN_MS < begun);
    if (outcome === 'refused' && isBeyond) checked.count('refused, report beyond the limit');
    else if (outcome === 'refused' && isIdle) checked.count('refused after the idle end');
    else if (outcome === 'refused' && ends.mayBeIdle(session, entry.ended))
      checked.count('refused at the idle end');
    if (outcome !== 'ok' || !(isBeyond || isIdle)) continue;
    const why = isBeyond ? `unused for ${idleFor} s` : 'after its idle end';
    const text = `refresh of session ${session}, ${why}`;
    yield { rule: 'accepted after its end', text, entries: [...before.map(({ by }) => by), entry] };
  }
}

/** After the answer of a sign-in its user has no more acknowledged sessions than the limit: each can be refreshed later. */
function* tooManyLive({ ends, lives }: Sessions, { most }: Limits, checked: Checked): Generator<Violation> {
  const byUser = new Map<string, SessionLife[]>();
  for (const life of lives.values()) addTo(byUser, life.user, life);
  for (const all of byUser.values()) {
    const spans = all.map(({ signIn }) => ({ signIn, refreshed: lastRefresh(ends, signIn.issued!.session) }));
    for (const { signIn } of all) {
      const live = spans.filter((one) => one.signIn.ended <= signIn.ended && one.refreshed > signIn.ended);
      checked.count('looks at the number of sessions');
      if (live.length <= most) continue;
      const text = `${live.length} sessions of user ${signIn.user} live after the answer of a sign-in`;
      yield { rule: 'beyond the limit', text, entries: live.map((one) => one.signIn) };
    }
  }
}

function lastRefresh({ uses }: Ends, session: string): number {
  const accepted = (uses.get(session) ?? []).filter(({ by }) => by.kind === 'refresh' && by.outcome === 'ok');
  return Math.max(-Infinity, ...accepted.map(({ by }) => by.begun));
}

/** Concurrent sign-ins end sessions beyond the limit, and no further ones. */
function* tooManyEnded(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  { most }: Limits,
  checked: Checked,
): Generator<Violation> {
  const refused = new Map<string, Refresh>();
  for (const entry of entries) {
    if (entry.kind !== 'refresh' || entry.error !== 'invalid_grant') continue;
    const known = refused.get(entry.session);
    if (!known || entry.ended < known.ended) refused.set(entry.session, entry);
  }
  const { ends } = sessions;
  const isOfLimit = (session: string, by: number): boolean =>
    !sessions.mayBeSignedOut(session, by) && !ends.mayBeIdle(session, by);
  for (const [user] of ends.signIns) {
    for (const { previous, begun, ended, next, signIns } of ends.groups(user)) {
      const live = ends.liveAt(user, { begun }, ended);
      const gone = live.flatMap(({ issued }) => {
        const end = issued && refused.get(issued.session);
        // Not one that an earlier sign-in may have ended.
        const wasLive = end && sessions.lives.get(end.session)!.lastAlive > previous;
        const isGone = wasLive && end.ended < next;
        return isGone && isOfLimit(end.session, end.ended) ? [end] : [];
      });
      if (signIns > 1) checked.count('groups of concurrent sign-ins');
      for (const _ of gone) checked.count('ended by the limit');
      if (gone.length === 0 || live.length - gone.length >= most) continue;
      const text = `${gone.length} of ${live.length} sessions of user ${user} ended by ${signIns} sign-ins`;
      yield { rule: 'ended for no reason', text, entries: gone };
    }
  }
}
