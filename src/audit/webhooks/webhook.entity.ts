import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../platform/database/reference-table.js';

/** State of one address of WEBHOOK_URLS. */
@ReferenceTable()
@Entity('webhooks')
export class Webhook {
  /** SHA-256, since an address may contain a secret. */
  @PrimaryColumn('bytea', { name: 'address_hash' })
  addressHash!: Buffer;

  /** Cursor (audit-feed.ts) of the last event that the address has accepted, or that it does not want. */
  @Column('text')
  position!: string;

  /** Id of the sender, new each time: a former sender cannot write any more. */
  @Column('uuid')
  holder!: string;

  /** Until then, no other instance sends. */
  @Column('timestamptz', { name: 'held_until' })
  leasedUntil!: Date;

  /** Failed attempts for the next event. */
  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  /** Time of the next attempt. */
  @Column('timestamptz', { name: 'retry_at', nullable: true })
  retryAt!: Date | null;

  @Column('timestamptz', { name: 'paused_at', nullable: true })
  pausedAt!: Date | null;
}
