import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import { Expires } from '../../../platform/database/expires.js';

/** Sign-in on the page for devices, before the answer: it makes no session. */
@ReferenceTable()
@Expires()
@Entity('device_confirmations')
export class DeviceConfirmation {
  /** SHA-256 of the secret in the browser's cookie. */
  @PrimaryColumn('bytea', { name: 'secret_hash' })
  secretHash!: Buffer;

  @Column('uuid', { name: 'request_id' })
  requestId!: string;

  @Column('text')
  provider!: string;

  /** An Identity, with the provider's tokens encrypted. */
  @Column('jsonb')
  identity!: object;

  /** When the provider was asked for the identity. */
  @Column('timestamptz', { name: 'requested_at' })
  requestedAt!: Date;

  @Index('device_confirmations_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
