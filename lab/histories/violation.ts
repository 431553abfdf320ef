import type { HistoryEntry } from './operation.js';

/** The rules of docs/reliability.md. */
type Rule =
  | 'succeeded twice'
  | 'acknowledged and gone'
  | 'accepted after its end'
  | 'delivered wrongly'
  | 'answered for another'
  | 'merged wrongly'
  | 'allowed wrongly'
  | 'ended for no reason'
  | 'missing in the feed'
  | 'wrong claims'
  | 'uses too much'
  | 'unknown answer'
  | 'wrong end'
  | 'beyond the limit';

/** Violation of a rule (docs/reliability.md#rules-of-a-history). */
export interface Violation {
  readonly rule: Rule;
  readonly text: string;
  readonly entries: readonly HistoryEntry[];
}

/** What a check has looked at: a history in which nothing could be checked shows nothing. */
export class Checked {
  /** Moments after which no session lived on a device. */
  emptyDevices = 0;
  calmCalls = 0;
  busyCalls = 0;
  /** By reader: calls, events and closed sockets about sessions that had ended, keys that were revoked or claims that were replaced. */
  readonly afterEnd: Record<string, number> = {};
  /** By reader, in calm and in stalls: longest time, in milliseconds, after which it did not know of the end or change yet. */
  readonly latest: Record<string, number> = {};
  /** Ends of sessions by limits, and what shows that they are exact; what shows that merges are whole, and that programs have ended. */
  readonly counts: Record<string, number> = {};

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** @param late milliseconds from the acknowledgement until the reader showed that it did not know */
  note(reader: string, late: number, isCalm: boolean): void {
    this.afterEnd[reader] = (this.afterEnd[reader] ?? 0) + 1;
    const name = isCalm ? reader : `${reader}, stalls`;
    this.latest[name] = Math.max(this.latest[name] ?? 0, Math.round(late));
  }
}
