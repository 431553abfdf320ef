import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, type EntitySubscriberInterface, type QueryRunner } from 'typeorm';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Sql } from '../database/sql.js';
import { Events } from '../events.js';
import { holdUser } from '../user/user.sql.js';
import {
  auditRowOf,
  NO_USER,
  recordedEventOf,
  type AuditFacts,
  type AuditRow,
  type RecordedEvent,
} from './audit-event.js';
import { INSERTED } from './audit.sql.js';

const INSERT = `INSERT INTO audit_events (${INSERTED.map(({ name }) => name).join(', ')})`;
const ARRAYS = INSERTED.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');

/** Events of a user that one statement reads. */
const SLICE = 1000;

/** Time from which events of a removal in progress are read again: one may be committed late. */
const BEGIN = `SELECT (clock_timestamp() - interval '1 minute')::text AS at`;
// The time is a text, since a Date would lose the microseconds.
const SLICE_END = `
  SELECT at::text AS at, id FROM (
    SELECT at, id FROM audit_events WHERE user_id = $1 AND (at, id) > ($2::timestamptz, $3::uuid)
    ORDER BY user_id, at, id LIMIT ${SLICE}
  ) AS slice ORDER BY slice.at DESC, id DESC LIMIT 1`;
const FORGET = `
  UPDATE audit_events SET provider_user_id = NULL, address = NULL, user_agent = NULL, reason = NULL
  WHERE user_id = $1 AND (at, id) > ($2::timestamptz, $3::uuid) AND (at, id) <= ($4::timestamptz, $5::uuid)`;

// It spans modules: the statement for users is that of their module.
const HOLD = holdUser('ANY ($1::uuid[])', 'true');
const HOLD_ONE = holdUser('$1', 'true');

/** Writes events in the transaction of their change; after its commit, `audit.recorded` publishes them. */
@Injectable()
export class AuditStore implements EntitySubscriberInterface {
  /** Whether events are stored at all (AUDIT_RETENTION_DAYS). */
  readonly isOn: boolean;
  private readonly uncommitted = new WeakMap<QueryRunner, RecordedEvent[]>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    private readonly events: Events,
    @Inject(SETTINGS) { auditRetentionDays }: Pick<Settings, 'auditRetentionDays'>,
  ) {
    this.isOn = auditRetentionDays > 0;
    dataSource.subscribers.push(this);
  }

  /** Writes events in the transaction of their change. The caller has locked the user's row, so that `at` has the order of commits. */
  async write(manager: EntityManager, facts: readonly AuditFacts[]): Promise<void> {
    if (facts.length === 0) return;
    const rows = facts.map((one) => auditRowOf(randomUUID(), one));
    if (this.isOn) await this.insert(manager, rows);
    const runner = manager.queryRunner!;
    const earlier = this.uncommitted.get(runner) ?? [];
    this.uncommitted.set(runner, [...earlier, ...rows.map(recordedEventOf)]);
  }

  /** Writes an event of a change that needs no other row, in a transaction of its own. */
  async record(facts: AuditFacts): Promise<void> {
    await this.dataSource.transaction((manager) => this.write(manager, [facts]));
  }

  /**
   * Clears what the events of a removed user hold beside ids, slice by slice.
   * @param from as an earlier call returned it; default: all events
   * @returns time from which later events are to be cleared
   */
  async forget(manager: EntityManager, userId: string, from = '-infinity'): Promise<string> {
    const [begin] = await manager.query<{ at: string }[]>(BEGIN);
    for (let [at, id] = [from, NO_USER]; ;) {
      const [end] = await manager.query<{ at: string; id: string }[]>(SLICE_END, [userId, at, id]);
      if (!end) return begin!.at;
      await manager.query(FORGET, [userId, at, id, end.at, end.id]);
      ({ at, id } = end);
    }
  }

  /** Publishes events that a committed statement has written itself. */
  publish(rows: readonly AuditRow[]): void {
    if (rows.length > 0) this.events.emit('audit.recorded', rows.map(recordedEventOf));
  }

  /** Inserts refusals, which may have waited while their user was removed: of that user, nothing personal is stored. */
  async insertRefusals(rows: readonly AuditRow[]): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const userIds = [...new Set(rows.map(({ user_id }) => user_id))].filter((id) => id !== NO_USER);
      const held = new Set([NO_USER]);
      // The locks make `forget` wait; a statement of Citus locks rows of one node only.
      const [hold, values] = this.sql.distributed ? [HOLD_ONE, userIds] : [HOLD, [userIds]];
      for (const value of values) {
        const found = await manager.query<{ user_id: string }[]>(hold, [value]);
        for (const { user_id } of found) held.add(user_id);
      }
      const nothing = { provider_user_id: null, address: null, user_agent: null, reason: null };
      const known = rows.map((row) => (held.has(row.user_id) ? row : { ...row, ...nothing }));
      await this.insert(manager, known);
    });
  }

  /** Inserts rows. Citus gets one statement for each user: it routes an INSERT with values to one node. */
  private async insert(manager: EntityManager, rows: readonly AuditRow[]): Promise<void> {
    if (!this.sql.distributed) {
      const values = INSERTED.map(({ name }) => rows.map((row) => row[name]));
      await manager.query(`${INSERT} SELECT * FROM unnest(${ARRAYS})`, values);
      return;
    }
    for (const userId of new Set(rows.map((row) => row.user_id))) {
      const own = rows.filter((row) => row.user_id === userId);
      const places = own.map(
        (_, n) => `(${INSERTED.map((_column, i) => `$${n * INSERTED.length + i + 1}`).join(', ')})`,
      );
      const values = own.flatMap((row) => INSERTED.map(({ name }) => row[name]));
      await manager.query(`${INSERT} VALUES ${places.join(', ')}`, values);
    }
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
