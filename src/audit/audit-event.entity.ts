import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../platform/database/expires.js';
import type { ClaimChanges } from './claim-changes.js';

/**
 * Event of the audit trail. `at` is read under the user's lock: events of one user are in the order of their
 * commits. That of a refusal is when it was refused, shortly before its commit (audit.sql.ts).
 */
@Expires({ age: { column: 'at', days: 'auditRetentionDays' } })
@Entity('audit_events')
@Index('audit_events_at', ['at', 'id'])
@Index('audit_events_refused', ['at', 'id'], { where: `result = 'refused'` })
@Index('audit_events_request', ['request_id', 'at'], { where: 'request_id IS NOT NULL' })
@Index('audit_events_session', ['session_id', 'at'], { where: 'session_id IS NOT NULL' })
@Index('audit_events_device', ['device_id', 'at'], { where: 'device_id IS NOT NULL' })
@Index('audit_events_address', ['address', 'at'], { where: 'address IS NOT NULL' })
@Index('audit_events_error', ['error', 'at'], { where: 'error IS NOT NULL' })
@Index('audit_events_new_device', ['new_device', 'at'], { where: 'new_device' })
@Index('audit_events_new_network', ['new_network', 'at'], { where: 'new_network' })
@Index('audit_events_removals', ['user_id'], { where: `event = 'user_removed'` })
@Index('audit_events_networks', { synchronize: false }) // TypeORM has no indexes of expressions
export class StoredAuditEvent {
  // The properties are named like the columns, and like the members of `GET /audit`.
  @PrimaryColumn('uuid')
  user_id!: string;

  @PrimaryColumn('timestamptz', { default: () => 'clock_timestamp()' })
  at!: Date;

  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  event!: string;

  /** `ok` or `refused`. */
  @Column('text')
  result!: string;

  /** Code of a refusal: ours, or the provider's. */
  @Column('text', { nullable: true })
  error!: string | null;

  @Column('text', { nullable: true })
  reason!: string | null;

  @Column('uuid', { nullable: true })
  session_id!: string | null;

  @Column('uuid', { nullable: true })
  device_id!: string | null;

  @Column('text', { nullable: true })
  provider!: string | null;

  @Column('text', { nullable: true })
  provider_user_id!: string | null;

  /** As `AUDIT_ADDRESSES` allows. */
  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { nullable: true })
  user_agent!: string | null;

  @Column('text')
  actor_type!: string;

  @Column('text', { nullable: true })
  actor_name!: string | null;

  @Column('uuid', { nullable: true })
  request_id!: string | null;

  @Column('boolean', { nullable: true })
  new_device!: boolean | null;

  @Column('boolean', { nullable: true })
  new_network!: boolean | null;

  @Column('uuid', { nullable: true })
  former_user_id!: string | null;

  @Column('json', { nullable: true })
  changes!: ClaimChanges | null;
}
