import type { HistoryEntry } from './operation.js';

/** The rules of docs/reliability.md. */
type Rule =
  | 'succeeded twice'
  | 'acknowledged and gone'
  | 'accepted after its end'
  | 'delivered wrongly'
  | 'answered for another'
  | 'ended for no reason'
  | 'unknown answer';

/** Violation of a rule (docs/reliability.md#rules-of-a-history). */
export interface Violation {
  readonly rule: Rule;
  readonly text: string;
  readonly entries: readonly HistoryEntry[];
}

export interface Judged {
  /** Acknowledged pushes for which it was asked of some socket whether they came in time. */
  inTime: number;
  /** Moments after which no session lived on a device. */
  emptyDevices: number;
  calmCalls: number;
  busyCalls: number;
}
