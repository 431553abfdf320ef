import type { Disturbances } from '../disturbances.js';
import { addTo } from '../groups.js';
import type { ClaimsChange, Connect, HistoryEntry, Push, Receive } from '../operation.js';
import type { Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

/** A push, over all of its attempts with one Idempotency-Key, or a change of claims, which is an event as well. */
interface Sent {
  readonly begun: number;
  readonly ended: number;
  readonly by: Push | ClaimsChange;
}

/**
 * Events come to open sockets within a second after the answer, unless the user is gone. What extends the second, counts if it befell
 * the instance that took the push, or that of the socket.
 */
export function* deliveredLate(
  entries: readonly HistoryEntry[],
  { merges }: Sessions,
  disturbances: Disturbances,
  checked: Checked,
): Generator<Violation> {
  const closed = new Map<number, number>();
  const came = new Map<string, Receive>();
  const all = new Map<string, Sent>();
  const opened = new Map<string, Connect[]>();
  for (const entry of entries) {
    if (entry.kind === 'closed') closed.set(entry.socket, entry.ended);
    if (entry.kind === 'receive') came.set(`${entry.socket} ${nameOf(entry)}`, entry);
    if (entry.kind === 'connect' && entry.outcome === 'ok') addTo(opened, entry.user, entry);
    if (entry.kind !== 'push' && entry.kind !== 'claims') continue;
    const known = all.get(nameOf(entry));
    const ended = entry.outcome === 'ok' ? entry.ended : Infinity;
    all.set(nameOf(entry), {
      begun: Math.min(entry.begun, known?.begun ?? Infinity),
      ended: Math.min(ended, known?.ended ?? Infinity),
      by: known && known.ended < ended ? known.by : entry,
    });
  }
  const last = entries.reduce((latest, entry) => Math.max(latest, entry.ended), 0);
  for (const sockets of opened.values()) sockets.sort((a, b) => a.ended - b.ended);
  const places = new Map<string, number>();
  const open = new Map<string, Set<Connect>>();
  for (const { begun, ended, by } of [...all.values()].toSorted((a, b) => a.begun - b.begun)) {
    const { user } = by;
    const device = by.kind === 'push' ? by.device : null;
    const sockets = opened.get(user) ?? [];
    const there = open.get(user) ?? new Set();
    open.set(user, there);
    let place = places.get(user) ?? 0;
    while (place < sockets.length && sockets[place]!.ended <= begun) there.add(sockets[place++]!);
    places.set(user, place);
    if (ended === Infinity) continue;
    for (const socket of there) {
      const until = closed.get(socket.socket) ?? last;
      if (until < begun) there.delete(socket);
      if (until < begun || (device !== null && device !== socket.device)) continue;
      const instances = [by.instance, socket.instance];
      const due = Math.max(...instances.map((one) => disturbances.knownAfterFaultsAt(ended, one)));
      const receive = came.get(`${socket.socket} ${nameOf(by)}`);
      const isCalm = instances.every((one) => disturbances.isCalm(ended, one));
      if (receive && receive.ended <= due) {
        checked.note('delivery', Math.max(0, receive.ended - ended), isCalm);
        continue;
      }
      if (until <= due || merges.mayBeGone(user, due)) continue;
      // Not kept: gone with a connection that breaks.
      if (!receive && !isCalm && by.kind === 'push' && by.ttl === 0) continue;
      const late = receive ? `${(receive.ended - ended).toFixed(0)} ms late` : 'not at all';
      yield {
        rule: 'delivered wrongly',
        text: `came to an open socket ${late} (${socket.client})`,
        entries: [socket, by, ...(receive ? [receive] : [])],
      };
    }
  }
}

function nameOf(entry: Push | ClaimsChange | Receive): string {
  return 'n' in entry ? `push ${entry.n}` : `claims ${entry.claims}`;
}
