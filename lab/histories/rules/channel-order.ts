import type { Connect, HistoryEntry, Push, Stored } from '../operation.js';
import type { Violation } from '../violation.js';

type Found = Omit<Violation, 'rule'>;

/** A push, over all of its tries with one Idempotency-Key, that was acknowledged. */
interface Acknowledged {
  readonly begun: number;
  readonly ended: number;
  readonly push: Push;
}

export function* channelOrder(
  entries: readonly HistoryEntry[],
  stored: ReadonlyMap<string, readonly Stored[]>,
): Generator<Found> {
  for (const history of stored.values()) yield* numbered(history);
  const byUser = new Map<string, { pushes: Acknowledged[]; begins: Connect[] }>();
  const of = (user: string): { pushes: Acknowledged[]; begins: Connect[] } => {
    const known = byUser.get(user) ?? { pushes: [], begins: [] };
    byUser.set(user, known);
    return known;
  };
  for (const acknowledged of acknowledgedPushes(entries))
    of(acknowledged.push.user).pushes.push(acknowledged);
  for (const entry of entries) {
    const isBeginning = entry.kind === 'connect' && entry.outcome === 'ok' && entry.from === undefined;
    if (isBeginning) of(entry.user).begins.push(entry);
  }
  for (const { pushes, begins } of byUser.values()) yield* inOrder(pushes, begins);
}

/** @param history of a user, in the order of the offsets */
function* numbered(history: readonly Stored[]): Generator<Found> {
  const ofPush = new Map<string, Stored>();
  const ofName = new Map<string, Stored>();
  for (const [i, event] of history.entries()) {
    const before = history[i - 1];
    if (event.offset !== (before?.offset ?? 0) + 1) {
      yield {
        text: `offset ${event.offset} follows ${before?.offset}`,
        entries: before ? [before, event] : [event],
      };
    }
    for (const [known, key] of [
      [ofPush, event.n],
      [ofName, event.name],
    ] as const) {
      const twin = key === undefined ? undefined : known.get(key);
      if (twin) yield { text: `${key} is in the history twice`, entries: [twin, event] };
      if (key !== undefined) known.set(key, event);
    }
  }
}

function acknowledgedPushes(entries: readonly HistoryEntry[]): Iterable<Acknowledged> {
  const begins = new Map<string, number>();
  const byPush = new Map<string, Acknowledged>();
  for (const entry of entries) {
    if (entry.kind !== 'push' || entry.ttl === 0) continue;
    begins.set(entry.n, Math.min(entry.begun, begins.get(entry.n) ?? Infinity));
  }
  for (const push of entries) {
    if (push.kind !== 'push' || push.ttl === 0 || push.outcome !== 'ok') continue;
    const known = byPush.get(push.n);
    if (known && known.ended <= push.ended) continue;
    byPush.set(push.n, { begun: begins.get(push.n)!, ended: push.ended, push });
  }
  return byPush.values();
}

/** What was known before a push began has a lower offset than the push. */
function* inOrder(pushes: readonly Acknowledged[], begins: readonly Connect[]): Generator<Found> {
  const known = [
    ...pushes.map(({ ended, push }) => ({ ended, offset: push.offset!, entry: push })),
    ...begins.map((entry) => ({ ended: entry.ended, offset: entry.offset!, entry })),
  ].toSorted((a, b) => a.ended - b.ended);
  let place = 0;
  let highest: (typeof known)[number] | undefined;
  for (const { begun, push } of pushes.toSorted((a, b) => a.begun - b.begun)) {
    for (let next = known[place]; next && next.ended < begun; next = known[++place]) {
      if (!highest || next.offset > highest.offset) highest = next;
    }
    if (highest && push.offset! <= highest.offset) {
      yield {
        text: `offset ${push.offset} after ${highest.offset} was known`,
        entries: [highest.entry, push],
      };
    }
  }
}
