import { allowedWrongly } from './agents/allowed.js';
import { Disturbances } from './disturbances.js';
import type { Limits } from './limits.js';
import type { HistoryEntry } from './operation.js';
import { answeredForAnother } from './rules/another.js';
import { unknownAnswers } from './rules/answers.js';
import { wrongClaims } from './rules/claims.js';
import { deliveredWrongly } from './rules/delivered.js';
import { wrongDeviceEvents } from './rules/device-events.js';
import { acceptedAfterEnd } from './rules/ended.js';
import { wrongFeed } from './rules/feed.js';
import { deliveredLate } from './rules/late.js';
import { againstLimits } from './rules/limits.js';
import { acknowledgedAndGone } from './rules/kept.js';
import { mergedWrongly } from './rules/merged.js';
import { endedForNoReason } from './rules/no-reason.js';
import { succeededTwice } from './rules/once.js';
import { usesTooMuch } from './rules/resources.js';
import { Sessions } from './sessions.js';
import { Checked, type Violation } from './violation.js';

/**
 * Finds what is forbidden in a history (docs/reliability.md#rules-of-a-history). Its work grows with the history's length.
 */
export function check(
  entries: readonly HistoryEntry[],
  limits?: Limits,
): {
  readonly violations: Violation[];
  readonly checked: Checked;
} {
  const disturbances = new Disturbances(entries);
  const sessions = new Sessions(entries, disturbances, limits);
  const checked = new Checked();
  const violations = [
    ...succeededTwice(entries),
    ...acknowledgedAndGone(entries, sessions),
    ...acceptedAfterEnd(entries, sessions, disturbances, checked),
    ...wrongFeed(entries, sessions, disturbances, checked),
    ...wrongClaims(entries, disturbances, checked),
    ...deliveredWrongly(entries, sessions),
    ...wrongDeviceEvents(entries, sessions, disturbances, checked),
    ...deliveredLate(entries, sessions, disturbances, checked),
    ...answeredForAnother(entries, sessions),
    ...mergedWrongly(entries, sessions, checked),
    ...allowedWrongly(entries, sessions, checked),
    ...endedForNoReason(entries, sessions),
    ...usesTooMuch(entries, sessions),
    ...unknownAnswers(entries, sessions, disturbances, checked),
    ...(limits ? againstLimits(entries, sessions, limits, checked) : []),
  ];
  return { violations, checked };
}
