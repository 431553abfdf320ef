import { placeAfter } from '../groups.js';
import type { Connect, HistoryEntry, Push, Receive, Stored } from '../operation.js';

type Tell = (text: string, ...entries: readonly HistoryEntry[]) => void;

/** What one client, which keeps its offset over all of its sockets, must have been given. */
export class Listening {
  /** Undefined until it was ready for the first time. */
  private position: number | undefined;
  private readonly ids = new Map<string, Receive>();
  private last: Connect | Receive;

  /**
   * @param first its first entry, which says who it is: a user, on a device
   * @param history of the user, all of it, in the order of the offsets; undefined: it went with the user
   * @param pushes by what they carry
   */
  constructor(
    private readonly first: Connect | Receive,
    private readonly history: readonly Stored[] | undefined,
    private readonly pushes: ReadonlyMap<string, Push>,
    private readonly tell: Tell,
  ) {
    this.last = first;
  }

  ready(connect: Connect): void {
    this.last = connect;
    if (!this.history || this.position === undefined || connect.from === undefined) {
      this.position = connect.offset!;
    } else if (connect.recovered !== true || connect.offset !== this.position) {
      this.tell(`came with offset ${connect.from}, and could not go on from there`, connect);
      this.position = connect.offset!;
    }
  }

  receive(event: Receive): void {
    this.last = event;
    const before = this.ids.get(event.id);
    if (before) return this.tell('received twice', before, event);
    this.ids.set(event.id, event);
    this.checkAddressee(event);
    if (event.offset === null || !this.history) return;
    if (this.position === undefined || event.offset <= this.position) {
      return this.tell(`received out of order, after ${this.position}`, event);
    }
    const stored = this.at(event.offset);
    if (stored?.id !== event.id || stored.n !== event.n || stored.event !== event.event)
      this.tell('received, and not in the history', event, ...(stored ? [stored] : []));
    this.missed(this.position, event.offset, event);
    this.position = event.offset;
  }

  /** At the end it has waited for all that there is. */
  end(): void {
    if (this.position !== undefined) this.missed(this.position, Infinity, this.last);
  }

  private missed(after: number, before: number, shown: HistoryEntry): void {
    const { history = [] } = this;
    for (let i = this.placeAfter(after); i < history.length; i++) {
      const event = history[i]!;
      if (event.offset >= before) break;
      if (event.device === null || event.device === this.first.device)
        this.tell('never received', event, shown);
    }
  }

  private checkAddressee(event: Receive): void {
    if (event.n === undefined) return; // the service's own: it is in the history of the user, or told
    const push = this.pushes.get(event.n);
    const { user, device } = this.first;
    if (!push) return this.tell('received, and nobody has pushed it', event);
    if (event.offset === null && push.id !== undefined && push.id !== event.id)
      return this.tell('received with what another one carries', push, event);
    if (push.user !== user) return this.tell('received by a stranger', push, event);
    if (push.device !== null && push.device !== device) this.tell('received by another device', push, event);
  }

  private at(offset: number): Stored | undefined {
    const event = this.history?.[this.placeAfter(offset - 1)];
    return event?.offset === offset ? event : undefined;
  }

  /** The place in the history of the first event after an offset. */
  private placeAfter(offset: number): number {
    return placeAfter(this.history ?? [], (event) => event.offset <= offset);
  }
}
