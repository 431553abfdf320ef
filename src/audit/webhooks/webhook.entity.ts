import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../database/citus.js';

/** Position of one address of WEBHOOK_URLS in the audit trail (contract §9). */
@ReferenceTable()
@Entity('webhooks')
export class Webhook {
  /** SHA-256, since an address may contain a secret. */
  @PrimaryColumn('bytea', { name: 'address_hash' })
  addressHash!: Buffer;

  /** Last event that the address has accepted, or that it does not want. */
  @Column('timestamptz', { name: 'after_at' })
  afterAt!: Date;

  @Column('uuid', { name: 'after_id' })
  afterId!: string;

  /** Failed attempts for the next event. */
  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  @Column('timestamptz', { name: 'retry_at', nullable: true })
  retryAt!: Date | null;

  @Column('timestamptz', { name: 'paused_at', nullable: true })
  pausedAt!: Date | null;
}
