import type { HistoryEntry, Use } from './operation.js';
import { FINAL } from './rules/kept.js';
import type { Violation } from './violation.js';

type Change<Kind extends HistoryEntry['kind']> = (entry: HistoryEntry & { kind: Kind }) => HistoryEntry[];

/** A history that breaks each rule: a change to one that breaks none. A checker that does not see it sees nothing. */
export function lies(entries: readonly HistoryEntry[]): Record<Violation['rule'], HistoryEntry[]> {
  const change = <Kind extends HistoryEntry['kind']>(kind: Kind, to: Change<Kind>): HistoryEntry[] =>
    entries.flatMap((entry) => (entry.kind === kind ? to(entry as HistoryEntry & { kind: Kind }) : [entry]));
  const refused = { outcome: 'refused', status: 401, error: 'invalid_token' } as const;
  const isEnded = ({ client, error }: Use): boolean => client === FINAL && error === 'invalid_token';
  return {
    'succeeded twice': change('exchange', (one) => [one, one]),
    'acknowledged and gone': change('stored', () => []),
    'accepted after its end': change('use', (one) => (isEnded(one) ? [accepted(one)] : [one])),
    'delivered wrongly': change('receive', (one) => [one, one]),
    'answered for another': change('use', (one) => [one.user ? { ...one, user: 'somebody' } : one]),
    'ended for no reason': change('use', (one) => [one.outcome === 'ok' ? { ...one, ...refused } : one]),
    'unknown answer': change('authorize', (one) => [{ ...one, outcome: 'refused', status: 418 }]),
  };
}

function accepted({ error: _error, ...call }: Use): Use {
  return { ...call, outcome: 'ok', status: 200 };
}
