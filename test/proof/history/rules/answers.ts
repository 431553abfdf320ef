import type { Disturbances } from '../disturbances.js';
import type { Call, HistoryEntry, Operation, SignOut } from '../operation.js';
import type { Violation } from '../violation.js';

type Kind = Exclude<Operation, { kind: 'receive' | 'closed' | 'key' }>['kind'];

/** Contract §3: how each call may be refused, when its client does nothing but what these clients do. */
const REFUSALS: Readonly<Record<Kind, readonly string[]>> = {
  authorize: [],
  'sign-in': ['401 invalid_grant'],
  refresh: ['401 invalid_grant'],
  use: ['401 invalid_token'],
  'sign-out': ['401 invalid_token', '404 not_found'],
  rename: ['401 invalid_token', '404 not_found'],
  push: ['404 not_found'],
  connect: ['undefined invalid_token'],
};

/** Milliseconds after a fault within which what it left behind may still fail (P10: first success within 3 s). */
const RECOVERY_MS = 3000;

/** Answers that the contract does not know: wrong errors, and server errors that no fault explains. */
export function unknownAnswers(entries: readonly HistoryEntry[], disturbances: Disturbances): Violation[] {
  const removals = removalsOf(entries);
  const violations: Violation[] = [];
  for (const entry of entries) {
    if (!('outcome' in entry) || entry.kind === 'key') continue;
    if (isKnown(entry)) continue;
    const text = `${entry.kind} was answered ${entry.status} ${entry.error}`;
    violations.push({ rule: 'unknown answer', text, entries: [entry] });
  }
  return violations;

  function isKnown(entry: HistoryEntry & Call & { kind: Kind }): boolean {
    const { outcome, status, error, retryAfter } = entry;
    if (outcome === 'ok') return true;
    if (outcome === 'refused') {
      if (!REFUSALS[entry.kind].includes(`${status} ${error}`)) return false;
      return status !== 404 || mayBeMissing(entry);
    }
    if (status === undefined) return true; // no answer
    // Contract §3: the database is away, or on a busy machine too slow; then the answer says when to try again.
    return (
      status === 500 &&
      error === 'server_error' &&
      (retryAfter === true || disturbances.overlap(entry, RECOVERY_MS))
    );
  }

  /** Users stay; a device is unknown only after it was removed. */
  function mayBeMissing(entry: HistoryEntry): boolean {
    if (!('device' in entry) || entry.device === null) return false;
    return (removals.get(`${entry.user} ${entry.device}`) ?? Infinity) <= entry.ended;
  }
}

/** When the first removal of each device began. */
function removalsOf(entries: readonly HistoryEntry[]): Map<string, number> {
  const removals = new Map<string, number>();
  const isRemoval = (entry: HistoryEntry): entry is SignOut =>
    entry.kind === 'sign-out' && entry.by === 'removal' && entry.outcome !== 'refused';
  for (const { user, device, begun } of entries.filter(isRemoval)) {
    const key = `${user} ${device}`;
    removals.set(key, Math.min(begun, removals.get(key) ?? Infinity));
  }
  return removals;
}
