import { addTo } from '../groups.js';
import type { HistoryEntry, Push, Stored } from '../operation.js';
import type { Violation } from '../violation.js';
import { channelOrder } from './channel-order.js';
import type { Sessions } from '../sessions.js';
import { Listening } from './listening.js';

export function deliveredWrongly(entries: readonly HistoryEntry[], { merges }: Sessions): Violation[] {
  const stored = new Map<string, Stored[]>();
  const pushes = new Map<string, Push>();
  const listening = new Map<string, Listening>();
  const found: Omit<Violation, 'rule'>[] = [];
  for (const entry of entries) {
    if (entry.kind === 'stored' && !merges.mayBeGone(entry.user)) addTo(stored, entry.user, entry);
    if (entry.kind === 'push') pushes.set(entry.n, entry);
  }
  for (const ofUser of stored.values()) ofUser.sort((a, b) => a.offset - b.offset);
  for (const entry of entries) {
    if (entry.kind !== 'receive' && entry.kind !== 'connect') continue;
    let client = listening.get(entry.client);
    if (!client) {
      client = new Listening(
        entry,
        merges.mayBeGone(entry.user) ? undefined : (stored.get(entry.user) ?? []),
        pushes,
        (text, ...shown) => found.push({ text: `${text} (${entry.client})`, entries: shown }),
      );
      listening.set(entry.client, client);
    }
    if (entry.kind === 'receive') client.receive(entry);
    else if (entry.outcome === 'ok') client.ready(entry);
  }
  for (const client of listening.values()) client.end();
  return [...found, ...channelOrder(entries, stored)].map((one) => ({ rule: 'delivered wrongly', ...one }));
}
