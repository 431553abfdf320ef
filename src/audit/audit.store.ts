import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  DataSource,
  In,
  type EntityManager,
  type EntitySubscriberInterface,
  type QueryRunner,
} from 'typeorm';
import { Declared } from '../platform/declared.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { placeOf, timeAt } from '../platform/database/page.js';
import { Events, type RecordedEvent } from '../platform/events.js';
import type { Place } from '../platform/http/parameters/cursor.js';
import { StoredAuditEvent } from './audit-event.entity.js';
import { NO_USER, toAuditRow, toRecordedEvent, type AuditFacts, type AuditRow } from './audit-event.js';
import { INSERT_EVENTS, INSERT_REFUSALS, INSERTED } from './audit.sql.js';
import type { UserLocks } from './user-locks.js';

/** Events of a user that one statement clears. */
const SLICE = 1000;
/** An event may be committed so long after its time; microseconds. */
const LATE_COMMIT = 60_000_000;

/** Whether an event has address and browser of an administrator or a backend. */
const BY_OTHERS = `(actor_type = 'service_key' OR actor_type = 'user' AND actor_name NOT IN (user_id::text, :self))`;

/** What the trail does not hold of a removed user. */
const NOTHING = { provider_user_id: null, reason: null, changes: null };
const NOWHERE = { address: null, user_agent: null };
const unlessOthers = (column: string) => (): string => `CASE WHEN ${BY_OTHERS} THEN ${column} END`;
const FORGOTTEN = { ...NOTHING, address: unlessOthers('address'), user_agent: unlessOthers('user_agent') };

/** A refusal, and its time; milliseconds since the epoch. */
export interface RefusedRow {
  readonly row: AuditRow;
  readonly at: number;
}

/** Writes events in the transaction of their change; after its commit, `audit.recorded` publishes them. */
@Injectable()
export class AuditStore implements EntitySubscriberInterface {
  /** Whether events are stored at all (AUDIT_RETENTION_DAYS). */
  readonly isOn: boolean;
  readonly retentionDays: number;
  /** Whether changes of claims are recorded with values (AUDIT_CLAIMS). */
  readonly recordsClaims: boolean;
  /** Reasons of `access_denied` that describe no person: the name of a condition, or a kept one. */
  private readonly impersonal: RegExp;
  private readonly uncommitted = new WeakMap<QueryRunner, RecordedEvent[]>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: Events,
    @Inject(SETTINGS)
    { auditRetentionDays, auditClaims }: Pick<Settings, 'auditRetentionDays' | 'auditClaims'>,
    @Inject(Declared)
    { impersonalReasons }: Pick<Declared, 'impersonalReasons'> = { impersonalReasons: [] },
  ) {
    this.isOn = auditRetentionDays > 0;
    this.retentionDays = auditRetentionDays;
    this.recordsClaims = auditClaims === 'full';
    const reasons = ['[a-z_]+', ...impersonalReasons.map((reason) => `${reason}: [^]*`)];
    this.impersonal = new RegExp(`^(?:${reasons.join('|')})$`);
    dataSource.subscribers.push(this);
  }

  /** Writes events in the transaction of their change, under the user's lock: `at` has commit order. */
  async write(manager: EntityManager, facts: readonly AuditFacts[]): Promise<void> {
    if (facts.length === 0) return;
    const rows = facts.map((one) => toAuditRow(randomUUID(), one));
    if (this.isOn) await this.insert(manager, rows);
    const runner = manager.queryRunner!;
    const earlier = this.uncommitted.get(runner) ?? [];
    this.uncommitted.set(runner, [...earlier, ...rows.map(toRecordedEvent)]);
  }

  /** Writes an event of a change that needs no other row, in one transaction. */
  async record(facts: AuditFacts): Promise<void> {
    await this.dataSource.transaction((manager) => this.write(manager, [facts]));
  }

  /**
   * Returns whether a user has signed in by an identity within some seconds, as far as the trail is kept.
   * @param except reason of sign-ins that do not count
   */
  hasSignIn(
    userId: string,
    { provider, providerUserId }: { readonly provider: string; readonly providerUserId: string },
    seconds: number,
    except: string,
  ): Promise<boolean> {
    const events = this.dataSource.manager.createQueryBuilder(StoredAuditEvent, 'event');
    const signIns = { user_id: userId, event: 'sign_in', provider, provider_user_id: providerUserId };
    return events
      .where(signIns)
      .andWhere('at > now() - make_interval(secs => :seconds)', { seconds })
      .andWhere('reason IS DISTINCT FROM :except', { except })
      .getExists();
  }

  /**
   * Clears what the events of a removed user hold about that user beside ids, slice by slice.
   * @param from place in microseconds, as an earlier call returned it; default: all events
   * @param self the removed user, if the events are of an id that belonged to them
   * @returns place from which later events are to be cleared
   */
  async forget(manager: EntityManager, userId: string, from = 0, self = userId): Promise<number> {
    const AFTER = `user_id = :userId AND (at, id) > (${timeAt(':place')}, :id::uuid)`;
    let begin: number | undefined;
    for (let last: Place = { place: String(from), id: NO_USER }; ;) {
      const slice = await manager
        .createQueryBuilder(StoredAuditEvent, 'event')
        .select([`${placeOf('at')} AS place`, 'id', `${placeOf('now()')}::float8 AS now`])
        .where(AFTER, { userId, ...last })
        .orderBy({ user_id: 'ASC', at: 'ASC', id: 'ASC' })
        .limit(SLICE)
        .getRawMany<Place & { now: number }>();
      const end = slice.at(-1);
      if (!end) return begin ?? from;
      begin ??= end.now - LATE_COMMIT;
      await manager
        .createQueryBuilder()
        .update(StoredAuditEvent)
        .set(FORGOTTEN)
        .setParameter('self', self)
        .where(AFTER, { userId, ...last })
        .andWhere(`(at, id) <= (${timeAt(':endPlace')}, :endId::uuid)`, {
          endPlace: end.place,
          endId: end.id,
        })
        .execute();
      last = end;
    }
  }

  /** Publishes events that a committed statement has written itself. */
  publish(rows: readonly AuditRow[]): void {
    if (rows.length > 0) this.events.emit('audit.recorded', rows.map(toRecordedEvent));
  }

  /**
   * Inserts refusals. Of a removed user, nothing personal is stored: the locks make `forget` wait. A sign-in
   * of a person without a row is a newcomer's, unless the trail has a removal.
   */
  async insertRefusals(refused: readonly RefusedRow[], locks: UserLocks): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const userIds = new Set(refused.map(({ row }) => row.user_id));
      userIds.delete(NO_USER);
      const locked = await locks.lock(manager, [...userIds]);
      const unknown = [...userIds].filter((userId) => !locked.has(userId));
      const removals = { event: 'user_removed', user_id: In(unknown) };
      const removed = new Set(
        unknown.length === 0
          ? []
          : (await manager.findBy(StoredAuditEvent, removals)).map(({ user_id }) => user_id),
      );
      const isPersonal = ({ user_id, event }: AuditRow): boolean =>
        user_id === NO_USER ||
        (locked.has(user_id)
          ? locked.get(user_id) === 'user'
          : event === 'sign_in_refused' && !removed.has(user_id));
      await this.insert(
        manager,
        refused.map(({ row }) => (isPersonal(row) ? row : withoutPerson(row, this.impersonal))),
        refused.map(({ at }) => at),
      );
    });
  }

  /** @param times of refusals */
  protected async insert(
    manager: EntityManager,
    rows: readonly AuditRow[],
    times?: readonly number[],
  ): Promise<void> {
    const values: unknown[] = INSERTED.map((name) => rows.map((row) => row[name]));
    // one statement also for 10,000 sessions that end at once
    await (times ? manager.query(INSERT_REFUSALS, [...values, times]) : manager.query(INSERT_EVENTS, values));
  }

  /** Called by TypeORM. */
  afterTransactionCommit({ queryRunner }: { readonly queryRunner: QueryRunner }): void {
    const recorded = queryRunner.isTransactionActive ? undefined : this.uncommitted.get(queryRunner);
    if (!recorded) return; // nothing was written, or only a savepoint was released
    this.uncommitted.delete(queryRunner);
    this.events.emit('audit.recorded', recorded);
  }

  /** Called by TypeORM. */
  afterTransactionRollback({ queryRunner }: { readonly queryRunner: QueryRunner }): void {
    this.uncommitted.delete(queryRunner);
  }
}

/** Clears what may describe a person. @param impersonal reasons that do not */
function withoutPerson(row: AuditRow, impersonal: RegExp): AuditRow {
  const isCondition = row.error === 'access_denied' && impersonal.test(row.reason ?? '');
  const { actor_type, actor_name, user_id } = row;
  const isSelf = actor_name === null || actor_name === user_id;
  const isByOthers = actor_type === 'service_key' || (actor_type === 'user' && !isSelf);
  return { ...row, ...NOTHING, ...(!isByOthers && NOWHERE), reason: isCondition ? row.reason : null };
}
