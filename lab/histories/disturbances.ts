import type { Fault } from '../world/faults.js';
import type { HistoryEntry, Refresh, SignIn, SignOut, Stall } from './operation.js';

/** Milliseconds within which all instances and readers know of a sign-out, a revoked key or new claims (docs/how-it-works.md). */
export const CALM_MS = 1000;
/** The same if network or database stall. */
export const STALLED_MS = 3000;
/** Milliseconds after a fault within which its consequences may last: the first success, notifications that a look replaces. */
export const RECOVERY_MS = 3000;

/** These concern the instance that they name, and no other; `feed-cut` concerns a verifier, and no instance. */
const OF_TARGET = /^(database|service|clients|feed)-|^redis-cut$/;

type Span = Pick<Fault, 'begun' | 'ended'>;

/** Faults, and pauses of the machine. */
export class Disturbances {
  private readonly spans = new Map<number | undefined, readonly Span[]>();
  private readonly faults: readonly Fault[];
  private readonly stalls: readonly Stall[];

  constructor(entries: readonly HistoryEntry[]) {
    this.faults = entries.filter((entry) => entry.kind === 'fault');
    this.stalls = entries.filter((entry) => entry.kind === 'stall');
  }

  /** By when an end or a change is known to a reader that notices a stall itself, whatever the fault: the verifier in an API. */
  knownAt(since: number): number {
    return this.isCalm(since) ? since + CALM_MS : since + STALLED_MS + this.paused(since, since + STALLED_MS);
  }

  /** By when it is known to readers that wait until all faults are over. @param instance undefined: of any instance */
  knownAfterFaultsAt(since: number, instance?: number): number {
    if (this.isCalm(since, instance)) return since + CALM_MS;
    let start = since;
    for (const { begun, ended } of this.spansOf(instance)) {
      if (begun > start + STALLED_MS) break;
      start = Math.max(start, ended);
    }
    return start + STALLED_MS;
  }

  /** Whether no fault and no pause is within the second after a moment, or shortly before it. */
  isCalm(since: number, instance?: number): boolean {
    return !this.overlap({ begun: since, ended: since + CALM_MS }, RECOVERY_MS, instance);
  }

  /** Whether a fault that concerns an instance, or a pause, overlaps a time, or ended less than `after` milliseconds before it. */
  overlap({ begun, ended }: Span, after: number, instance?: number): boolean {
    return this.spansOf(instance).some((span) => span.begun <= ended && begun <= span.ended + after);
  }

  /** The end of the faults that a time overlaps, or its own. */
  endOf({ begun, ended }: Span): number {
    const overlapping = this.faults.filter((fault) => fault.begun <= ended && begun <= fault.ended);
    return Math.max(ended, ...overlapping.map((fault) => fault.ended));
  }

  /** Milliseconds of a time in which processes paused, and the verifiers with them. */
  private paused(from: number, to: number): number {
    const lengths = this.stalls
      .filter(({ of }) => of !== 'a commit')
      .map(({ begun, ended }) => Math.max(0, Math.min(ended, to) - Math.max(begun, from)));
    return lengths.reduce((sum, length) => sum + length, 0);
  }

  /** In order. Instances are called `instance 1`, `instance 2`, … (World). */
  private spansOf(instance: number | undefined): readonly Span[] {
    const known = this.spans.get(instance);
    if (known) return known;
    const concerns = ({ fault, target }: Fault): boolean =>
      instance === undefined || !OF_TARGET.test(fault) || target === `instance ${instance + 1}`;
    const spans = [...this.faults.filter(concerns), ...this.stalls].toSorted((a, b) => a.begun - b.begun);
    this.spans.set(instance, spans);
    return spans;
  }
}

const LATE_MS = 30_000;

/** The last moment at which a call can have taken effect. */
export function latestEffect(call: SignOut | SignIn | Refresh, disturbances: Disturbances): number {
  return call.outcome === 'ok' ? call.ended : disturbances.endOf(call) + LATE_MS;
}
