import { latestEffect, RECOVERY_MS, type Disturbances } from '../disturbances.js';
import { addTo } from '../groups.js';
import type { Call, Consent, HistoryEntry, Merge, Operation, SignIn, SignOut } from '../operation.js';
import type { Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

type Kind = Exclude<Operation, { kind: 'receive' | 'closed' | 'key' | 'feed' }>['kind'];

/** How each call may be refused if its client does nothing but what these clients do (docs/errors.md). */
const REFUSALS: Readonly<Record<Kind, readonly string[]>> = {
  authorize: [],
  'sign-in': ['401 invalid_grant'],
  refresh: ['401 invalid_grant'],
  use: ['401 invalid_token', '404 not_found'],
  introspect: ['200 inactive'],
  verify: ['401 invalid_token'],
  'sign-out': ['401 invalid_token', '404 not_found'],
  rename: ['401 invalid_token', '404 not_found'],
  push: ['404 not_found'],
  connect: ['undefined invalid_token'],
  claims: [],
  merge: ['401 invalid_token', '409 identity_in_use', '401 invalid_grant'],
  consent: ['400 undefined'], // a page
  trespass: ['401 invalid_token', '401 invalid_grant', 'undefined invalid_token'],
};

const NO_FAILURES = new Set(['io client disconnect', 'signed_out', 'revoked', 'expired']);

/** A busy machine may keep the database waiting, but that is rare: so many calls of a kind, or so great a share of them. */
const BUSY_FEW = 10;
const BUSY_SHARE = 0.01;

/** Answers that the contract does not know: wrong errors, and server errors that no fault explains. */
export function unknownAnswers(
  entries: readonly HistoryEntry[],
  { merges, lives }: Sessions,
  disturbances: Disturbances,
  checked: Checked,
): Violation[] {
  const removals = removalsOf(entries, disturbances);
  const signIns = signInsOf(entries);
  const operator = entries.filter(
    (entry) => entry.kind === 'sign-out' && entry.by === 'operator' && entry.outcome !== 'refused',
  ) as readonly SignOut[];
  const violations: Violation[] = [];
  const calm = new Map<Kind, { calls: number; readonly busy: HistoryEntry[] }>();
  for (const entry of entries) {
    if (!('outcome' in entry) || entry.kind === 'key') continue;
    if (!disturbances.overlap(entry, RECOVERY_MS, entry.instance)) {
      const ofKind = calm.get(entry.kind) ?? { calls: 0, busy: [] };
      calm.set(entry.kind, ofKind);
      ofKind.calls++;
      if (entry.status === 500) ofKind.busy.push(entry);
    }
    if (isKnown(entry)) continue;
    const text = `${entry.kind} was answered ${entry.status} ${entry.error}`;
    violations.push({ rule: 'unknown answer', text, entries: [entry] });
  }
  for (const [kind, { calls, busy }] of calm) {
    checked.calmCalls += calls;
    checked.busyCalls += busy.length;
    if (busy.length <= Math.max(BUSY_FEW, calls * BUSY_SHARE)) continue;
    const text = `${busy.length} of ${calls} ${kind} were answered server_error where nothing was broken`;
    violations.push({ rule: 'unknown answer', text, entries: busy.slice(0, 3) });
  }
  return violations;

  function isKnown(entry: HistoryEntry & Call & { kind: Kind }): boolean {
    const { outcome, status, error, retryAfter } = entry;
    if (outcome === 'ok') return true;
    if (outcome === 'refused') {
      if (!REFUSALS[entry.kind].includes(`${status} ${error}`)) return false;
      if (entry.kind === 'merge' && error !== 'invalid_token') return mayBeOther(entry);
      if (entry.kind === 'consent') return mayBeForgotten(entry);
      return status !== 404 || mayBeMissing(entry);
    }
    if (status === undefined)
      return NO_FAILURES.has(error ?? '') || disturbances.overlap(entry, RECOVERY_MS, concerned(entry));
    if (entry.kind === 'verify')
      return error === 'temporarily_unavailable' && disturbances.overlap(entry, RECOVERY_MS);
    // The database is away, or on a busy machine too slow; then the answer says when to try again.
    return (
      (status === 500 || entry.kind === 'consent') && // a program is told by a redirect
      error === 'server_error' &&
      (retryAfter === true || disturbances.overlap(entry, RECOVERY_MS, entry.instance))
    );
  }

  /** A handshake takes so many steps that it may meet what befell the instance before. */
  function concerned({ kind, instance }: Operation & Call): number | undefined {
    return kind === 'connect' || kind === 'trespass' ? undefined : instance;
  }

  /** The other user is there until a merge, and gone after one whose answer was lost. */
  function mayBeOther({ step, error, account, begun }: Merge): boolean {
    const { begun: first, shown } = merges.byAccount.get(account)!;
    if (error === 'identity_in_use') return step === 'prove' && !(shown && shown.ended < begun);
    return step === 'merge' && first !== undefined && first.begun < begun;
  }

  /** The operator's end of a program takes back what waits for an answer. */
  function mayBeForgotten({ begun, ended }: Consent): boolean {
    return operator.some((one) => one.begun <= ended && latestEffect(one, disturbances) >= begun);
  }

  /** Users stay, unless another one has taken them in; a device is unknown only after it was removed. */
  function mayBeMissing(entry: HistoryEntry): boolean {
    if (entry.kind === 'push' && merges.mayBeGone(entry.user, entry.ended)) return true;
    if (entry.kind === 'use') {
      const user = lives.get(entry.token.session)?.user ?? '';
      // Its token was good, and then the user was gone; afterwards it is not.
      const shown = merges.byFormer.get(user)?.shown;
      return merges.mayBeGone(user, entry.ended) && !(shown && shown.ended < entry.begun);
    }
    if (!('device' in entry) || entry.device === null) return false;
    const key = `${entry.user} ${entry.device}`;
    // A sign-in makes it known anew: what counts is a removal that may be later than the last one that was over before.
    const known = (signIns.get(key) ?? []).reduce(
      (last, { begun, ended }) => (ended < entry.begun ? Math.max(last, begun) : last),
      -Infinity,
    );
    return (removals.get(key) ?? []).some(({ begun, latest }) => begun <= entry.ended && latest >= known);
  }
}

interface Removal {
  readonly begun: number;
  /** When it can have taken effect at the latest. */
  readonly latest: number;
}

/** The removals of each device. */
function removalsOf(
  entries: readonly HistoryEntry[],
  disturbances: Disturbances,
): ReadonlyMap<string, readonly Removal[]> {
  const removals = new Map<string, Removal[]>();
  for (const entry of entries) {
    if (entry.kind !== 'sign-out' || entry.by !== 'removal' || entry.outcome === 'refused') continue;
    const key = `${entry.user} ${entry.device}`;
    addTo(removals, key, { begun: entry.begun, latest: latestEffect(entry, disturbances) });
  }
  return removals;
}

/** The acknowledged sign-ins on each device. */
function signInsOf(entries: readonly HistoryEntry[]): ReadonlyMap<string, readonly SignIn[]> {
  const signIns = new Map<string, SignIn[]>();
  for (const entry of entries) {
    if (entry.kind !== 'sign-in' || entry.outcome !== 'ok' || entry.device === null) continue;
    addTo(signIns, `${entry.user} ${entry.device}`, entry);
  }
  return signIns;
}
