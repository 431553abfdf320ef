import { reportFigure } from '../../support/proof.js';
import type { Call, FaultEntry, HistoryEntry } from './operation.js';
import { FINAL } from './rules/kept.js';
import type { Judged, Violation } from './violation.js';

/** Milliseconds after a fault that still count as its consequence. */
const AFTERMATH_MS = 5000;
/** Faults of one instance: the others go on. */
const OF_ONE = /^instance (\d+)$/;

/**
 * Reports what a run was, and what was found in it.
 * @param name what each row begins with, e.g. `with Redis`
 * @param wanted how many operations there have to be, where that is promised
 */
export function reportHistory(
  entries: readonly HistoryEntry[],
  { violations, judged }: { readonly violations: readonly Violation[]; readonly judged: Judged },
  {
    name,
    seed,
    wanted,
  }: { readonly name: string; readonly seed: number; readonly wanted: string | undefined },
): void {
  const report = (what: string, figure: string, promised?: string): void =>
    reportFigure({
      part: 'histories',
      what: `${name}: ${what}`,
      figure,
      ...(promised !== undefined && { wanted: promised }),
    });
  const calls = entries.filter((entry) => 'outcome' in entry);
  const came = entries.filter((entry) => entry.kind === 'receive' || entry.kind === 'closed');
  const faults = entries.filter((entry) => entry.kind === 'fault');
  const pushed = calls.filter(({ kind, outcome }) => kind === 'push' && outcome === 'ok').length;
  report('operations', number(calls.length + came.length), wanted);
  report(
    'of each kind',
    counted([...calls, ...came], ({ kind }) => kind),
  );
  const changes = entries.filter((entry) => entry.kind === 'key');
  report(
    'signing keys: changes; keys that have signed',
    `${counted(changes, ({ change }) => change)}; ${signingKeys(entries)}`,
  );
  report('calls answered; refused; of unknown outcome', outcomes(calls));
  const { calmCalls, busyCalls, inTime, emptyDevices } = judged;
  report('calls where nothing was broken; of them told to come later', `${number(calmCalls)}; ${busyCalls}`);
  report('pushes of which it was asked whether they came in time', `${number(inTime)} of ${number(pushed)}`);
  report('moments without a session on a device, for each of which it was told', number(emptyDevices));
  report(
    'faults',
    counted(faults, ({ fault }) => fault),
  );
  report(
    'longest time without a success, where one instance was struck at the two others',
    gaps(calls, faults),
  );
  const stalls = entries.filter((entry) => entry.kind === 'stall').map(({ begun, ended }) => ended - begun);
  report(
    'the clients’ own process stood still: times; for how long in all',
    `${stalls.length}; ${(stalls.reduce((sum, ms) => sum + ms, 0) / 1000).toFixed(1)} s`,
  );
  report('violations', counted(violations, ({ rule }) => rule) || '0', '0');
  report('seed', String(seed));
}

function signingKeys(entries: readonly HistoryEntry[]): number {
  const issued = entries.flatMap((entry) =>
    (entry.kind === 'sign-in' || entry.kind === 'refresh') && entry.issued ? [entry.issued.kid] : [],
  );
  return new Set(issued).size;
}

function outcomes(calls: readonly Call[]): string {
  const of = (wanted: string): string => number(calls.filter(({ outcome }) => outcome === wanted).length);
  return `${of('ok')}; ${of('refused')}; ${of('unknown')}`;
}

/**
 * For each kind of fault the longest time in which no call succeeded at an instance that it was not about, from its beginning until
 * five seconds after its end, the next fault, or the end of the load.
 */
function gaps(
  calls: readonly (Call & { readonly kind: string; readonly client: string })[],
  faults: readonly FaultEntry[],
): string {
  const load = calls.filter(({ kind, client }) => kind === 'push' && client !== FINAL);
  const end = load.reduce((latest, { begun }) => Math.max(latest, begun), 0);
  const successes = new Map<number, number[]>();
  for (const { instance, outcome, ended } of calls) {
    if (outcome !== 'ok' || instance < 0) continue;
    const known = successes.get(instance);
    if (known) known.push(ended);
    else successes.set(instance, [ended]);
  }
  for (const times of successes.values()) times.sort((a, b) => a - b);
  const longest = new Map<string, number>();
  const inOrder = faults.toSorted((a, b) => a.begun - b.begun);
  for (const [i, { fault, target, begun, ended }] of inOrder.entries()) {
    const until = Math.min(ended + AFTERMATH_MS, inOrder[i + 1]?.begun ?? Infinity, end);
    const struck = Number(OF_ONE.exec(target)?.[1] ?? 0) - 1;
    for (const [instance, times] of successes) {
      if (instance === struck) continue;
      const within = times.filter((time) => time > begun && time < until);
      const gap = [...within, until].reduce(
        ({ last, most }, time) => ({ last: time, most: Math.max(most, time - last) }),
        { last: begun, most: 0 },
      ).most;
      longest.set(fault, Math.max(longest.get(fault) ?? 0, gap));
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
