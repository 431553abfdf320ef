import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { Clock } from '../platform/database/clock.js';
import { ConcurrencyLimit } from '../platform/database/limits.js';
import { isDatabaseAway } from '../platform/errors/database-error.js';
import { Events, type SessionIds } from '../platform/events.js';
import type { AuditName } from './audit-names.js';
import { systemOrigin, toAuditRow, toRecordedEvent, type AuditFacts } from './audit-event.js';
import { AuditStore, type RefusedRow } from './audit.store.js';
import { UserLocks } from './user-locks.js';

/** Refusals stored a second: of each name, and of any name beyond; 1,000 in all (docs/audit.md#bounds). */
const OF_EACH = 100;
const OF_ANY = 700;
/** Refusals that wait for the database; later ones are counted. */
const MOST_WAITING = 10_000;
/** Refusals of one transaction. */
const LARGEST_WRITE = 1000;
const WRITE_EVERY_MS = 200;
const SECOND_MS = 1000;

type RefusalName = Extract<AuditName, `${string}_refused`>;

export interface Refusal extends Omit<AuditFacts, 'event' | 'userId'> {
  readonly event: RefusalName;
  /** Default: the user is not known. */
  readonly userId?: string | null;
  /** Session in a refused token, which may be forged: stored only if `prove` finds the session. */
  readonly claimed?: SessionIds | undefined;
  /** Called later, if the event is stored. @returns the reason to store, if it is another one */
  readonly prove?: (() => Promise<{ readonly reason?: string | undefined } | undefined>) | undefined;
}

interface Waiting extends RefusedRow, Pick<Refusal, 'claimed' | 'prove'> {}

/** Stores at most 1,000 refusals a second, and counts the others by name. No request waits for it. */
@Injectable()
export class AuditRefusals implements BeforeApplicationShutdown {
  private readonly logger = new Logger(AuditRefusals.name);
  private waiting: Waiting[] = [];
  private readonly counts = new Map<RefusalName, number>();
  private readonly leftOut = new Map<RefusalName, number>();
  private shared = 0;
  private allLeftOut = 0;
  private second?: NodeJS.Timeout | undefined;
  private nextWrite?: NodeJS.Timeout | undefined;
  private writing = Promise.resolve();
  /** Requests find a connection, also in a flood. */
  private readonly lookups = new ConcurrencyLimit(2);

  constructor(
    private readonly store: AuditStore,
    private readonly locks: UserLocks,
    private readonly events: Events,
    private readonly clock: Clock,
  ) {
    events.on('state.requested', (report) => report({ auditEventsLeftOut: this.allLeftOut }));
  }

  refused({ claimed, prove, ...refusal }: Refusal): void {
    const row = toAuditRow(randomUUID(), { userId: null, ...refusal });
    const ids = claimed && { claimed: { user_id: claimed.userId, session_id: claimed.sessionId } };
    this.events.emit('audit.recorded', [{ ...toRecordedEvent(row), ...ids }]);
    if (!this.store.isOn) return;
    const at = this.clock.now();
    if (this.admits(refusal.event)) this.enqueue({ row, at, claimed, prove });
    else {
      this.leftOut.set(refusal.event, (this.leftOut.get(refusal.event) ?? 0) + 1);
      this.allLeftOut++;
    }
  }

  /** The connection pool is closed after this. */
  async beforeApplicationShutdown(): Promise<void> {
    this.endSecond();
    await this.write();
  }

  /** Counts a refusal. A flood of one name leaves room for the others. */
  private admits(name: RefusalName): boolean {
    this.second ??= setTimeout(() => this.endSecond(), SECOND_MS).unref();
    if (this.waiting.length >= MOST_WAITING) return false;
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    return count <= OF_EACH || ++this.shared <= OF_ANY;
  }

  private endSecond(): void {
    clearTimeout(this.second);
    this.second = undefined;
    for (const [event, count] of this.leftOut) {
      const reason = `${count} events left out`;
      this.enqueue({
        row: toAuditRow(randomUUID(), { event, userId: null, reason, origin: systemOrigin() }),
        at: this.clock.now(),
      });
    }
    this.counts.clear();
    this.leftOut.clear();
    this.shared = 0;
  }

  private enqueue(one: Waiting): void {
    this.waiting.push(one);
    this.nextWrite ??= setTimeout(() => void this.write(), WRITE_EVERY_MS).unref();
  }

  private write(): Promise<void> {
    clearTimeout(this.nextWrite);
    this.nextWrite = undefined;
    return (this.writing = this.writing.then(() => this.writeNow()));
  }

  /** If the database is away, the batch is written with the next one. */
  private async writeNow(): Promise<void> {
    const all = this.waiting.splice(0);
    for (let at = 0; at < all.length; at += LARGEST_WRITE) {
      const batch = all.slice(at, at + LARGEST_WRITE);
      try {
        const refused = await Promise.all(batch.map((one) => this.lookups.run(() => attributed(one))));
        await this.store.insertRefusals(refused, this.locks);
      } catch (error) {
        this.logger.warn({ err: error, msg: 'refusals could not be written to the audit trail' });
        if (isDatabaseAway(error)) for (const one of batch) this.enqueue(one);
      }
    }
  }
}

async function attributed({ row, at, claimed, prove }: Waiting): Promise<RefusedRow> {
  const proven = claimed && (await prove?.());
  if (!proven) return { row, at };
  const { userId: user_id, sessionId: session_id, deviceId: device_id } = claimed;
  return { row: { ...row, reason: proven.reason ?? row.reason, user_id, session_id, device_id }, at };
}
