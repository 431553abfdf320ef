import type { Disturbances } from '../disturbances.js';
import { addTo, placeAfter } from '../groups.js';
import type { ClaimsChange, HistoryEntry } from '../operation.js';
import type { Checked, Violation } from '../violation.js';

/** Claims as a call or event has shown them. */
interface Seen {
  readonly user: string;
  readonly n: number;
  /** Not for events: a socket or a feed may bring an older change after a newer one. */
  readonly isCurrent: boolean;
}

/** A change, and when the claims before it are over: `latest` is the newest change that began of those due until then. */
interface Due {
  readonly at: number;
  readonly change: ClaimsChange;
  latest: ClaimsChange;
}

/**
 * Nothing shows claims that were never put for the user, or a mixture. A token that was asked for after the answer of a change has it, or
 * later claims; so has every other answer a second later. `/me` and introspection are read from the database, `verify()` from the feed.
 */
export function* wrongClaims(
  entries: readonly HistoryEntry[],
  disturbances: Disturbances,
  checked: Checked,
): Generator<Violation> {
  const changes = new Map<string, ClaimsChange[]>();
  const byNumber = new Map<string, ClaimsChange>();
  for (const entry of entries) {
    if (entry.kind !== 'claims' || entry.outcome === 'refused') continue;
    addTo(changes, entry.user, entry);
    byNumber.set(`${entry.user} ${entry.claims}`, entry);
  }
  const dues = new Map<string, { readonly tokens: readonly Due[]; readonly answers: readonly Due[] }>();
  for (const [user, all] of changes)
    dues.set(user, {
      tokens: inOrder(all, ({ ended }) => ended),
      answers: inOrder(all, ({ ended }) => disturbances.knownAt(ended)),
    });
  for (const entry of entries) {
    const seen = seenIn(entry);
    if (!seen) continue;
    const { user, n } = seen;
    const of = n === 0 ? undefined : byNumber.get(`${user} ${n}`);
    if (n !== 0 && !(of && of.begun <= entry.ended)) {
      const text = `${entry.kind} shows claims of user ${user} that were never put, or a mixture (${n})`;
      yield { rule: 'wrong claims', text, entries: of ? [of, entry] : [entry] };
      continue;
    }
    const ofUser = dues.get(user);
    if (!seen.isCurrent || !ofUser) continue;
    const isToken = entry.kind === 'refresh' || entry.kind === 'sign-in';
    const over = isToken ? ofUser.tokens : ofUser.answers;
    // A change without an answer may take effect at any later time.
    const knownSince = of === undefined ? -Infinity : of.outcome === 'ok' ? of.ended : Infinity;
    const newer = lastBefore(over, entry.begun);
    if (newer && knownSince <= newer.latest.begun) {
      const late = (entry.begun - newer.latest.ended).toFixed(0);
      const text = `${entry.kind} shows claims ${n} of user ${user}, ${late} ms after the answer of ${newer.latest.claims}`;
      yield { rule: 'wrong claims', text, entries: [newer.latest, entry] };
    } else {
      const answered = lastBefore(ofUser.tokens, entry.begun);
      const isOld = answered !== undefined && knownSince <= answered.latest.begun;
      const late = isOld ? entry.begun - answered.latest.ended : 0;
      if (answered) checked.note(`claims, ${entry.kind}`, late, disturbances.isCalm(answered.latest.ended));
    }
  }
}

function inOrder(all: readonly ClaimsChange[], dueAt: (change: ClaimsChange) => number): Due[] {
  const due = all
    .filter(({ outcome }) => outcome === 'ok')
    .map((change): Due => ({ at: dueAt(change), change, latest: change }))
    .toSorted((a, b) => a.at - b.at);
  let latest: ClaimsChange | undefined;
  for (const one of due)
    one.latest = latest = latest && latest.begun > one.change.begun ? latest : one.change;
  return due;
}

function lastBefore(due: readonly Due[], moment: number): Due | undefined {
  return due[placeAfter(due, ({ at }) => at < moment) - 1];
}

function seenIn(entry: HistoryEntry): Seen | undefined {
  if (entry.kind === 'sign-in' || entry.kind === 'refresh')
    return entry.issued && { user: entry.issued.user, n: entry.issued.claims, isCurrent: true };
  const { kind } = entry;
  const isCall = kind === 'use' || kind === 'introspect' || kind === 'verify';
  if (!isCall && kind !== 'receive' && kind !== 'feed' && kind !== 'stored') return undefined;
  const { user, claims: n } = entry;
  return user === undefined || n === undefined ? undefined : { user, n, isCurrent: isCall };
}
