import type { Disturbances } from '../disturbances.js';
import { addTo } from '../groups.js';
import type { Connect, HistoryEntry, Push, Receive } from '../operation.js';
import type { Judged, Violation } from '../violation.js';

/** Milliseconds after a fault within which hints may still be made up for by a look into the history. */
const RECOVERY_MS = 3000;

export function* deliveredLate(
  entries: readonly HistoryEntry[],
  disturbances: Disturbances,
  deliveredMs: number,
  judged: Judged,
): Generator<Violation> {
  const closed = new Map<number, number>();
  const came = new Map<string, Receive>();
  const pushes = new Map<string, { begun: number; ended: number; push: Push }>();
  const opened = new Map<string, Connect[]>();
  for (const entry of entries) {
    if (entry.kind === 'closed') closed.set(entry.socket, entry.ended);
    if (entry.kind === 'receive' && entry.n !== undefined) came.set(`${entry.socket} ${entry.n}`, entry);
    if (entry.kind === 'connect' && entry.outcome === 'ok') addTo(opened, entry.user, entry);
    if (entry.kind !== 'push') continue;
    const known = pushes.get(entry.n);
    const ended = entry.outcome === 'ok' ? entry.ended : Infinity;
    pushes.set(entry.n, {
      begun: Math.min(entry.begun, known?.begun ?? Infinity),
      ended: Math.min(ended, known?.ended ?? Infinity),
      push: known && known.ended < ended ? known.push : entry,
    });
  }
  for (const sockets of opened.values()) sockets.sort((a, b) => a.ended - b.ended);
  const places = new Map<string, number>();
  const open = new Map<string, Set<Connect>>();
  for (const { begun, ended, push } of [...pushes.values()].toSorted((a, b) => a.begun - b.begun)) {
    const { user, device, n } = push;
    const sockets = opened.get(user) ?? [];
    const there = open.get(user) ?? new Set();
    open.set(user, there);
    let place = places.get(user) ?? 0;
    while (place < sockets.length && sockets[place]!.ended <= begun) there.add(sockets[place++]!);
    places.set(user, place);
    if (ended === Infinity) continue;
    const due = ended + deliveredMs;
    // Of one instance's faults those count that befell the one that took the push, or that of the socket.
    const isCalm = (instance: number): boolean =>
      !disturbances.overlap({ begun, ended: due }, RECOVERY_MS, instance);
    const wasTaken = isCalm(push.instance);
    let isJudged = false;
    for (const socket of there) {
      const until = closed.get(socket.socket) ?? -Infinity;
      if (until < begun) there.delete(socket);
      if (until <= due || (device !== null && device !== socket.device)) continue;
      if (!wasTaken || !isCalm(socket.instance)) continue;
      isJudged = true;
      const receive = came.get(`${socket.socket} ${n}`);
      if (receive && receive.ended <= due) continue;
      const late = receive ? `${(receive.ended - ended).toFixed(0)} ms late` : 'not at all';
      yield {
        rule: 'delivered wrongly',
        text: `came to an open socket ${late} (${socket.client})`,
        entries: [socket, push, ...(receive ? [receive] : [])],
      };
    }
    if (isJudged) judged.inTime++;
  }
}
