import { CALM_MS, RECOVERY_MS, type Disturbances } from '../disturbances.js';
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

/** Events come to open sockets within a second after the answer, if no fault concerns the two instances, and the user is not gone. */
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
    const due = ended + CALM_MS;
    if (merges.mayBeGone(user, due)) continue;
    // Of one instance's faults those count that befell the one that took the push, or that of the socket.
    const isCalm = (instance: number): boolean =>
      !disturbances.overlap({ begun, ended: due }, RECOVERY_MS, instance);
    const wasTaken = isCalm(by.instance);
    for (const socket of there) {
      const until = closed.get(socket.socket) ?? -Infinity;
      if (until < begun) there.delete(socket);
      if (until <= due || (device !== null && device !== socket.device)) continue;
      if (!wasTaken || !isCalm(socket.instance)) continue;
      const receive = came.get(`${socket.socket} ${nameOf(by)}`);
      if (receive && receive.ended <= due) {
        checked.note('delivery', Math.max(0, receive.ended - ended), true);
        continue;
      }
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
