import type { FaultEntry, HistoryEntry, Stall } from './operation.js';

/** While these last, no instance has a database that answers. */
const OF_ALL = new Set(['postgres-killed', 'postgres-frozen', 'failover']);
/** While these last, the instance that they name has none, or does not run itself. */
const OF_ONE = /^(database|service)-/;
/** While these last, clients of the instance that they name do not see what it does. */
const OF_CLIENTS = /^clients-/;
/** These befall the instance that they name, and no other. */
const OF_TARGET = /^(database|service|clients)-|^redis-cut$/;

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

  /**
   * When an instance has had so many milliseconds undisturbed since a moment.
   * @param seenBy whether what counts is what clients see, or what the instance does
   */
  dueAt(instance: number, since: number, ms: number, seenBy: 'instance' | 'clients' = 'instance'): number {
    let start = since;
    for (const { begun, ended } of this.spansOf(instance, seenBy)) {
      if (begun > start + ms) break;
      start = Math.max(start, ended);
    }
    return start + ms;
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
    const spans = [...this.faults.filter(concerns), ...this.stalls];
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

/** Instances are called `instance 1`, `instance 2`, … (World). */
function isTarget(target: string, instance: number): boolean {
  return target === `instance ${instance + 1}`;
}
