import type { FaultEntry, HistoryEntry, Stall } from './operation.js';

/** While these last, no instance has a database that answers. */
const OF_ALL = new Set(['postgres-killed', 'postgres-frozen', 'failover']);
/** While these last, the instance that they name has none, or does not run itself. */
const OF_ONE = /^(database|service)-/;
/** While these last, clients of the instance that they name do not see what it does. */
const OF_CLIENTS = /^clients-/;
/** These concern the instance that they name, and no other; `feed-cut` concerns a verifier, and no instance. */
const OF_TARGET = /^(database|service|clients|feed)-|^redis-cut$/;

/** Milliseconds within which all instances and readers know of a sign-out, a revoked key or new claims (docs/how-it-works.md). */
export const CALM_MS = 1000;
/** The same if network or database stall. */
export const STALLED_MS = 3000;
/** Milliseconds after a fault within which its consequences may last: the first success, notifications that a look replaces. */
export const RECOVERY_MS = 3000;

type Span = Pick<FaultEntry, 'begun' | 'ended'>;

export class Disturbances {
  private readonly spans = new Map<string, readonly Span[]>();
  private readonly seen = new Map<number | undefined, readonly Span[]>();
  private readonly faults: readonly FaultEntry[];
  private readonly stalls: readonly Stall[];

  constructor(entries: readonly HistoryEntry[]) {
    this.faults = entries.filter((entry) => entry.kind === 'fault');
    this.stalls = entries.filter((entry) => entry.kind === 'stall');
  }

  /** By when an end or a change is known to a reader that notices a stall itself, whatever the fault: the verifier in an API. */
  knownAt(since: number): number {
    return this.isCalm(since)
      ? since + CALM_MS
      : since + STALLED_MS + this.stalled(since, since + STALLED_MS);
  }

  /** By when it is known to those that wait until the fault is over: @param instance undefined: any fault counts */
  knownAfterFaultsAt(since: number, instance?: number): number {
    if (this.isCalm(since, instance)) return since + CALM_MS;
    return instance === undefined
      ? after(this.seenAt(undefined), since, STALLED_MS)
      : this.dueAt(instance, since, STALLED_MS, 'clients');
  }

  /** Whether no fault and no pause is within the second after a moment, or shortly before it. */
  isCalm(since: number, instance?: number): boolean {
    return !this.overlap({ begun: since, ended: since + CALM_MS }, RECOVERY_MS, instance);
  }

  /** Milliseconds of a time in which processes paused, and the verifiers with them. */
  private stalled(from: number, to: number): number {
    return this.stalls.reduce(
      (sum, { of, begun, ended }) =>
        of === 'a commit' ? sum : sum + Math.max(0, Math.min(ended, to) - Math.max(begun, from)),
      0,
    );
  }

  /**
   * When an instance has had so many milliseconds undisturbed since a moment.
   * @param seenBy whether what counts is what clients see, or what the instance does
   */
  dueAt(instance: number, since: number, ms: number, seenBy: 'instance' | 'clients' = 'instance'): number {
    return after(this.spansOf(instance, seenBy), since, ms);
  }

  /**
   * Whether a fault that an instance's clients may notice overlaps a time, or ended less than `after` milliseconds before it; also
   * one of the machine itself.
   */
  overlap({ begun, ended }: Span, after: number, instance?: number): boolean {
    const spans = this.seenAt(instance);
    return spans.some((span) => span.begun <= ended && begun <= span.ended + after);
  }

  /** The end of the faults that a time overlaps, or its own. */
  endOf({ begun, ended }: Span): number {
    const overlapping = this.faults.filter((fault) => fault.begun <= ended && begun <= fault.ended);
    return Math.max(ended, ...overlapping.map((fault) => fault.ended));
  }

  private seenAt(instance: number | undefined): readonly Span[] {
    const known = this.seen.get(instance);
    if (known) return known;
    const concerns = ({ fault, target }: FaultEntry): boolean =>
      instance === undefined || !OF_TARGET.test(fault) || isTarget(target, instance);
    const spans = [...this.faults.filter(concerns), ...this.stalls].toSorted((a, b) => a.begun - b.begun);
    this.seen.set(instance, spans);
    return spans;
  }

  private spansOf(instance: number, seenBy: 'instance' | 'clients'): readonly Span[] {
    const key = `${instance} ${seenBy}`;
    const known = this.spans.get(key);
    if (known) return known;
    const counts = ({ fault, target }: FaultEntry): boolean =>
      OF_ALL.has(fault) ||
      ((OF_ONE.test(fault) || (seenBy === 'clients' && OF_CLIENTS.test(fault))) &&
        isTarget(target, instance));
    const spans: Span[] = [...this.faults.filter(counts), ...this.stalls].toSorted(
      (a, b) => a.begun - b.begun,
    );
    this.spans.set(key, spans);
    return spans;
  }
}

/** When so many milliseconds have passed since a moment without one of the spans, which are in order. */
function after(spans: readonly Span[], since: number, ms: number): number {
  let start = since;
  for (const { begun, ended } of spans) {
    if (begun > start + ms) break;
    start = Math.max(start, ended);
  }
  return start + ms;
}

/** Instances are called `instance 1`, `instance 2`, … (World). */
function isTarget(target: string, instance: number): boolean {
  return target === `instance ${instance + 1}`;
}
