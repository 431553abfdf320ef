import { Disturbances } from './disturbances.js';
import type { HistoryEntry } from './operation.js';
import { answeredForAnother } from './rules/another.js';
import { unknownAnswers } from './rules/answers.js';
import { deliveredWrongly } from './rules/delivered.js';
import { wrongDeviceEvents } from './rules/device-events.js';
import { acceptedAfterEnd, type Patience } from './rules/ended.js';
import { deliveredLate } from './rules/late.js';
import { acknowledgedAndGone } from './rules/kept.js';
import { endedForNoReason } from './rules/no-reason.js';
import { succeededTwice } from './rules/once.js';
import { Sessions } from './sessions.js';
import type { Judged, Violation } from './violation.js';

/**
 * Finds violations in a history (docs/reliability.md#rules-of-a-history). Its work grows with the history's
 * length.
 */
export function check(
  entries: readonly HistoryEntry[],
  patience: Patience,
): { readonly violations: Violation[]; readonly judged: Judged } {
  const disturbances = new Disturbances(entries);
  const sessions = new Sessions(entries, disturbances);
  const judged: Judged = { inTime: 0, emptyDevices: 0, calmCalls: 0, busyCalls: 0 };
  const violations = [
    ...succeededTwice(entries),
    ...acknowledgedAndGone(entries, sessions),
    ...acceptedAfterEnd(entries, sessions, disturbances, patience),
    ...deliveredWrongly(entries),
    ...wrongDeviceEvents(entries, sessions, disturbances, judged),
    ...deliveredLate(entries, disturbances, patience.deliveredMs, judged),
    ...answeredForAnother(entries, sessions),
    ...endedForNoReason(entries, sessions),
    ...unknownAnswers(entries, disturbances, judged),
  ];
  return { violations, judged };
}
