import type { HistoryEntry } from './operation.js';

/** The rules, by the letters of docs/reliability.md. */
export type Rule =
  | 'succeeded twice'
  | 'acknowledged and gone'
  | 'accepted after its end'
  | 'delivered wrongly'
  | 'ended for no reason'
  | 'unknown answer';

/** Something that the contract forbids. */
export interface Violation {
  readonly rule: Rule;
  readonly text: string;
  /** Those that show it. */
  readonly entries: readonly HistoryEntry[];
}
