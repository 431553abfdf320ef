import { Disturbances } from './disturbances.js';
import type { HistoryEntry } from './operation.js';
import { unknownAnswers } from './rules/answers.js';
import { deliveredWrongly } from './rules/delivered.js';
import { wrongDeviceEvents } from './rules/device-events.js';
import { acceptedAfterEnd, type Patience } from './rules/ended.js';
import { deliveredLate } from './rules/late.js';
import { acknowledgedAndGone } from './rules/kept.js';
import { endedForNoReason } from './rules/no-reason.js';
import { succeededTwice } from './rules/once.js';
import { Sessions } from './sessions.js';
import type { Violation } from './violation.js';

/** Finds what the contract forbids in a history (docs/reliability.md has the rules). Its work grows with the history's length. */
export function check(entries: readonly HistoryEntry[], patience: Patience): Violation[] {
  const disturbances = new Disturbances(entries);
  const sessions = new Sessions(entries, disturbances);
  return [
    ...succeededTwice(entries),
    ...acknowledgedAndGone(entries, sessions),
    ...acceptedAfterEnd(entries, sessions, disturbances, patience),
    ...deliveredWrongly(entries),
    ...wrongDeviceEvents(entries, sessions),
    ...deliveredLate(entries, disturbances, patience.deliveredMs),
    ...endedForNoReason(entries, sessions),
    ...unknownAnswers(entries, disturbances),
  ];
}
