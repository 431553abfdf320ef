import { Logger } from '@nestjs/common';
import type { RecheckSettings } from './recheck.feature.js';
import type { Provider } from '../../provider/provider.js';
import { SLICE, type CheckStore } from './check.store.js';
import type { ProviderCheck } from './provider-check.entity.js';
import type { Outcome, Recheck } from './recheck.js';

const logger = new Logger('Recheck');

/** Calls at a time to one provider: as many at first, and while calls are slow. */
const LEAST_IN_FLIGHT = 10;
/** And at most, while calls are fast. */
const MOST_IN_FLIGHT = 200;
/** A quarter of a call's time-out: until slow answers come, as many calls again have begun. */
const SLOW_MS = 1250;
/** Slices of due users that one run looks at: most of their sessions may be idle. */
const MOST_SLICES = 10;
/** Longer than the pauses between attempts (recheck.ts): a failure after that is a new one. */
const WORKS_AFTER_MS = 1_200_000;
/** A longer delay, in seconds, is logged as a warning. */
const LATE_S = 60;

interface Parts {
  readonly store: CheckStore;
  readonly recheck: Recheck;
  /** Number of instances that run, which share `recheck_rate`. */
  readonly instances: () => Promise<number>;
}

/** Due users of one provider on this instance. */
export class ProviderQueue {
  /** Seconds since the oldest due user became due. */
  delay = 0;
  private readonly inFlight = new Set<Promise<void>>();
  private mostInFlight = LEAST_IN_FLIGHT;
  /** Calls that may begin now; it grows with the time. */
  private allowance = 0;
  private ranAt = performance.now();
  private failedAt = -Infinity;
  private isLate = false;

  constructor(
    private readonly provider: Provider,
    private readonly settings: RecheckSettings,
    private readonly parts: Parts,
  ) {}

  /** Begins the calls that are due, oldest first, and waits for none. */
  async run(): Promise<void> {
    await this.grow();
    for (let slices = MOST_SLICES; slices > 0; slices--) {
      const left = Math.floor(Math.min(this.allowance, this.mostInFlight - this.inFlight.size));
      if (left <= 0) return;
      if (!(await this.runSlice(left, slices === MOST_SLICES))) return;
    }
  }

  /** Resolves after the calls that have begun. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight);
  }

  private async grow(): Promise<void> {
    const share = this.settings.rate / Math.max(1, await this.parts.instances());
    const now = performance.now();
    this.allowance = Math.min(this.allowance + (share * (now - this.ranAt)) / 1000, Math.max(1, share));
    this.ranAt = now;
  }

  /** @returns whether more users may be due */
  private async runSlice(left: number, isFirst: boolean): Promise<boolean> {
    const { store } = this.parts;
    const due = await store.findDue(this.provider.settings.name);
    if (isFirst) this.report(due[0]?.late ?? 0);
    const idsOf = (users: typeof due): string[] => users.map(({ userId }) => userId);
    const gone = due.filter(({ hasSession }) => !hasSession);
    const idle = due.filter(({ hasSession, isInUse }) => hasSession && !isInUse);
    const used = due.filter(({ hasSession, isInUse }) => hasSession && isInUse).slice(0, left);
    if (gone.length > 0) await store.removeEnded(idsOf(gone));
    if (idle.length > 0) await store.rest(idsOf(idle));
    const leased = used.length > 0 ? await store.lease(idsOf(used)) : [];
    for (const row of leased) this.begin(row);
    return due.length === SLICE;
  }

  private begin(row: ProviderCheck): void {
    this.allowance--;
    const began = performance.now();
    const call = this.parts.recheck
      .run(row, this.provider, this.settings)
      .then((outcome) => this.note(outcome))
      .catch((error: unknown) => logger.debug({ err: error, msg: 'a re-check could not be stored' }))
      .finally(() => {
        this.inFlight.delete(call);
        this.adapt(performance.now() - began);
      });
    this.inFlight.add(call);
  }

  /** Behind a slow provider or on a busy instance, calls that wait for each other would time out. */
  private adapt(ms: number): void {
    const wanted = ms < SLOW_MS ? this.mostInFlight + 1 : this.mostInFlight / 2;
    this.mostInFlight = Math.min(Math.max(wanted, LEAST_IN_FLIGHT), MOST_IN_FLIGHT);
  }

  /** Warns once of failures that follow each other. */
  private note(outcome: Outcome): void {
    const { name } = this.provider.settings;
    const now = performance.now();
    if (outcome.answered) return;
    if (now - this.failedAt > WORKS_AFTER_MS) {
      const grace = `its sessions go on for recheck_grace (${this.settings.grace} s)`;
      logger.warn(`provider ${name} gave no usable answer to a re-check: ${outcome.reason}; ${grace}`);
    }
    this.failedAt = now;
  }

  /** Warns once while users wait too long. */
  private report(late: number): void {
    this.delay = late;
    const wasLate = this.isLate;
    this.isLate = late > LATE_S;
    if (!this.isLate || wasLate) return;
    const { name } = this.provider.settings;
    const advice = 'raise recheck_rate if the provider permits it, or recheck';
    logger.warn(`re-checks of provider ${name} are ${Math.round(late)} s late: ${advice}`);
  }
}
