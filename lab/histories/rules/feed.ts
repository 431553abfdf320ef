import type { Disturbances } from '../disturbances.js';
import type { FeedEvent, HistoryEntry } from '../operation.js';
import type { Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

/**
 * Each reader of the session feed gets each session that was signed out (docs/ended-sessions.md#a-reader): within a second, if the reader
 * was cut off within three seconds after the last fault. No event is about a session that nobody has signed out.
 */
export function* wrongFeed(
  entries: readonly HistoryEntry[],
  sessions: Sessions,
  disturbances: Disturbances,
  checked: Checked,
): Generator<Violation> {
  const readers = new Map<string, Map<string, FeedEvent>>();
  for (const entry of entries) {
    if (entry.kind !== 'feed') continue;
    const received = readers.get(entry.client) ?? new Map<string, FeedEvent>();
    readers.set(entry.client, received);
    if (entry.session === undefined) continue;
    received.set(entry.session, entry);
    if (sessions.mayHaveEnded(entry.session, entry.ended)) continue;
    const { signIn } = sessions.lives.get(entry.session)!;
    const text = `${entry.client} got session ${entry.session}, which had not ended`;
    yield { rule: 'ended for no reason', text, entries: [signIn, entry] };
  }
  for (const [session, { ended }] of sessions.lives) {
    if (!ended) continue;
    const due = disturbances.knownAfterFaultsAt(ended.ended);
    for (const [client, received] of readers) {
      const event = received.get(session);
      const late = (event?.ended ?? Infinity) - ended.ended;
      if (event && event.ended <= due) {
        checked.note('feed', late, disturbances.isCalm(ended.ended));
        continue;
      }
      const text = `session ${session} came to ${client} ${event ? `after ${late.toFixed(0)} ms` : 'never'}`;
      yield { rule: 'missing in the feed', text, entries: event ? [ended, event] : [ended] };
    }
  }
}
