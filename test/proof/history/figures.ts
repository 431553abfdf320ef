import { reportFigure } from '../../support/proof.js';
import type { Call, FaultEntry, HistoryEntry } from './operation.js';
import type { Violation } from './violation.js';

/** Milliseconds after a fault that still count as its consequence. */
const AFTERMATH_MS = 5000;

/** Reports what a run was, and what was found in it. @param wanted how many operations there have to be, where that is promised */
export function reportHistory(
  entries: readonly HistoryEntry[],
  violations: readonly Violation[],
  { seed, wanted }: { readonly seed: number; readonly wanted: string | undefined },
): void {
  const report = (what: string, figure: string, promised?: string): void =>
    reportFigure({ part: 'histories', what, figure, ...(promised !== undefined && { wanted: promised }) });
  const calls = entries.filter((entry) => 'outcome' in entry);
  const came = entries.filter((entry) => entry.kind === 'receive' || entry.kind === 'closed');
  const faults = entries.filter((entry) => entry.kind === 'fault');
  report('operations', number(calls.length + came.length), wanted);
  report(
    'of each kind',
    counted([...calls, ...came], ({ kind }) => kind),
  );
  report('calls answered; refused; of unknown outcome', outcomes(calls));
  report(
    'server errors outside of any fault',
    counted(calls.filter(isBusy(faults)), ({ kind }) => kind) || '0',
  );
  report(
    'faults',
    counted(faults, ({ fault }) => fault),
  );
  report('longest time without a success', gaps(calls, faults));
  report('violations', counted(violations, ({ rule }) => rule) || '0', '0');
  report('seed', String(seed));
}

function outcomes(calls: readonly Call[]): string {
  const of = (wanted: string): string => number(calls.filter(({ outcome }) => outcome === wanted).length);
  return `${of('ok')}; ${of('refused')}; ${of('unknown')}`;
}

/** Answers of 5xx that no fault overlaps: allowed to a database that a busy machine keeps waiting, and told. */
function isBusy(faults: readonly FaultEntry[]): (call: Call) => boolean {
  return ({ status, begun, ended }) =>
    status !== undefined &&
    status >= 500 &&
    !faults.some((fault) => fault.begun <= ended && begun <= fault.ended + 1000);
}

/** For each kind of fault the longest time in which no call of anybody succeeded, from its beginning on. */
function gaps(calls: readonly (Call & { readonly kind: string })[], faults: readonly FaultEntry[]): string {
  const successes = calls
    .flatMap(({ outcome, ended }) => (outcome === 'ok' ? [ended] : []))
    .toSorted((a, b) => a - b);
  const longest = new Map<string, number>();
  let place = 0;
  for (const { fault, begun, ended } of faults.toSorted((a, b) => a.begun - b.begun)) {
    while (place < successes.length && successes[place]! < begun) place++;
    let last = begun;
    for (let i = place; i < successes.length && last < ended + AFTERMATH_MS; i++) {
      longest.set(fault, Math.max(longest.get(fault) ?? 0, successes[i]! - last));
      last = successes[i]!;
    }
  }
  return [...longest].map(([fault, ms]) => `${fault} ${(ms / 1000).toFixed(1)} s`).join(', ');
}

function counted<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): string {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([key, count]) => `${key} ${number(count)}`)
    .join(', ');
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
