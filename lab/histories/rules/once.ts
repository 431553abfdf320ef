import type { HistoryEntry, SignIn } from '../operation.js';
import type { Violation } from '../violation.js';

/** Spec §2.3, §3: a state is used once, and a code is exchanged once; P1: the provider is asked once. */
export function succeededTwice(entries: readonly HistoryEntry[]): Violation[] {
  const ofState = new Map<string, SignIn>();
  const ofCode = new Map<string, HistoryEntry>();
  const asked = new Map<string, HistoryEntry>();
  const violations: Violation[] = [];
  const seen = <Entry extends HistoryEntry>(
    known: Map<string, Entry>,
    key: string,
    what: string,
    entry: Entry,
  ): void => {
    const first = known.get(key);
    known.set(key, entry);
    if (first) violations.push({ rule: 'succeeded twice', text: `${what} ${key}`, entries: [first, entry] });
  };
  for (const entry of entries) {
    if (entry.kind === 'exchange') seen(asked, entry.code, 'the provider was asked twice about code', entry);
    if (entry.kind !== 'sign-in' || entry.outcome !== 'ok') continue;
    seen(ofState, entry.state, 'two sign-ins with state', entry);
    seen(ofCode, entry.code, 'two sign-ins with code', entry);
  }
  return violations;
}
