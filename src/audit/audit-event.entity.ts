import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../database/expires.js';

/** Event of the audit trail (contract §9). `at` is read under the user's lock: events of one user are in the order of their commits. */
@Expires({ age: { column: 'at', days: 'auditRetentionDays' } })
@Entity('audit_events')
@Index('audit_events_at', ['at', 'id'])
@Index('audit_events_refused', ['at', 'id'], { where: `result = 'refused'` })
export class StoredAuditEvent {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

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

  @Column('uuid', { name: 'session_id', nullable: true })
  sessionId!: string | null;

  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  @Column('text', { nullable: true })
  provider!: string | null;

  @Column('text', { name: 'provider_user_id', nullable: true })
  providerUserId!: string | null;

  /** As `AUDIT_ADDRESSES` allows. */
  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent!: string | null;

  @Column('text', { name: 'actor_type' })
  actorType!: string;

  @Column('text', { name: 'actor_name', nullable: true })
  actorName!: string | null;

  @Column('text', { name: 'request_id', nullable: true })
  requestId!: string | null;
}
