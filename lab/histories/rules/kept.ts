import { accountOf } from '../account.js';
import { addTo } from '../groups.js';
import { FINAL, type HistoryEntry, type SignIn, type SignOut, type Stored } from '../operation.js';
import type { Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';

export function acknowledgedAndGone(entries: readonly HistoryEntry[], sessions: Sessions): Violation[] {
  return [
    ...lostStates(entries),
    ...lostSessions(entries, sessions),
    ...lostEvents(entries, sessions),
    ...lostNames(entries),
  ].map((found) => ({
    rule: 'acknowledged and gone',
    ...found,
  }));
}

type Found = Omit<Violation, 'rule'>;

/** A state that was handed out, and refused to the first who came with it, while no sign-out ended all of the user's sessions. */
function* lostStates(entries: readonly HistoryEntry[]): Generator<Found> {
  const firstOf = new Map<string, SignIn>();
  for (const entry of entries) {
    if (entry.kind !== 'sign-in') continue;
    const first = firstOf.get(entry.state);
    if (!first || entry.begun < first.begun) firstOf.set(entry.state, entry);
  }
  const users = new Map<string, Set<string>>(); // two, if the account was merged
  const signOuts = new Map<string, SignOut[]>();
  for (const entry of entries) {
    if (entry.kind === 'sign-in' && entry.user)
      users.set(accountOf(entry), (users.get(accountOf(entry)) ?? new Set()).add(entry.user));
    const isOfAll =
      entry.kind === 'sign-out' &&
      (entry.scope === 'all' || entry.scope === 'others' || entry.by === 'operator');
    if (isOfAll && entry.outcome !== 'refused') addTo(signOuts, entry.user, entry);
  }
  const others = new Map<string, SignIn[]>();
  for (const entry of entries) {
    if (entry.kind !== 'sign-in' || entry === firstOf.get(entry.state)) continue;
    addTo(others, entry.state, entry);
  }
  for (const [state, first] of firstOf) {
    if (first.outcome !== 'refused') continue;
    const rivals = (others.get(state) ?? []).filter(({ begun }) => begun <= first.ended);
    const ofUsers = [...(users.get(accountOf(first)) ?? [])].flatMap((user) => signOuts.get(user) ?? []);
    const mayBeSignedOut = ofUsers.some(
      // One without an answer may take effect later.
      ({ begun, ended, outcome }) =>
        begun <= first.ended && (outcome !== 'ok' || ended >= (first.since ?? first.begun)),
    );
    if (rivals.length === 0 && !mayBeSignedOut)
      yield { text: `state ${state} was refused to the first`, entries: [first] };
  }
}

function* lostSessions(entries: readonly HistoryEntry[], sessions: Sessions): Generator<Found> {
  const looks = new Map<string, HistoryEntry>();
  for (const entry of entries) {
    if (entry.kind === 'refresh' && entry.client === FINAL) looks.set(entry.session, entry);
  }
  for (const [session, { signIn }] of sessions.lives) {
    if (sessions.mayHaveEnded(session, Infinity)) continue;
    const look = looks.get(session);
    if (look?.kind === 'refresh' && look.outcome === 'ok') continue;
    yield { text: `session ${session} is gone at the end`, entries: [signIn, ...(look ? [look] : [])] };
  }
}

function* lostEvents(entries: readonly HistoryEntry[], { merges }: Sessions): Generator<Found> {
  const byId = new Map<string, Stored>();
  const names = new Set<string>();
  const claims = new Set<number>();
  for (const entry of entries) {
    if (entry.kind !== 'stored') continue;
    byId.set(entry.id, entry);
    if (entry.name !== undefined) names.add(entry.name);
    if (entry.claims !== undefined) claims.add(entry.claims);
  }
  for (const entry of entries) {
    if (entry.kind === 'rename' && entry.outcome === 'ok' && !names.has(entry.name)) {
      yield { text: `the device was renamed ${entry.name}, and no event says so`, entries: [entry] };
    }
    if (entry.kind === 'claims' && entry.outcome === 'ok' && !claims.has(entry.claims)) {
      yield { text: `claims ${entry.claims} were put, and no event says so`, entries: [entry] };
    }
    if (entry.kind !== 'push' || entry.outcome !== 'ok' || entry.ttl === 0) continue;
    if (merges.mayBeGone(entry.user)) continue;
    const stored = byId.get(entry.id!);
    const isSame =
      stored?.offset === entry.offset &&
      stored?.user === entry.user &&
      stored.device === entry.device &&
      stored.n === entry.n;
    if (!isSame)
      yield { text: `push ${entry.n} is not in the history`, entries: [entry, ...(stored ? [stored] : [])] };
  }
}

function* lostNames(entries: readonly HistoryEntry[]): Generator<Found> {
  const removed = new Map<string, number>();
  const begun = new Map<string, number>();
  const histories = new Map<string, Stored[]>();
  for (const entry of entries) {
    if (entry.kind === 'sign-out' && entry.by === 'removal' && entry.outcome !== 'refused') {
      const key = `${entry.user} ${entry.device}`;
      // One that was not answered may be done much later.
      const latest = entry.outcome === 'ok' ? entry.ended : Infinity;
      removed.set(key, Math.max(latest, removed.get(key) ?? 0));
    }
    if (entry.kind === 'rename') begun.set(entry.name, entry.begun);
    if (entry.kind !== 'stored' || !entry.of) continue;
    addTo(histories, `${entry.user} ${entry.of.device}`, entry);
  }
  for (const [key, events] of histories) {
    let renamed: Stored | undefined;
    for (const event of events.toSorted((a, b) => a.offset - b.offset)) {
      if (event.event === 'device.renamed') renamed = event;
      else if (renamed && event.of!.name !== renamed.of!.name) {
        const since = begun.get(renamed.name!) ?? -Infinity;
        if ((removed.get(key) ?? -Infinity) < since)
          yield { text: `the name ${renamed.name} is gone from the device`, entries: [renamed, event] };
        renamed = undefined;
      }
    }
  }
}
