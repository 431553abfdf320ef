import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import { Expires } from '../../../platform/database/expires.js';

/** State of a request; `used` has issued its tokens, or was refused while it did. */
export type DeviceRequestState = 'open' | 'approved' | 'denied' | 'used';

/** Request of a device without a browser (RFC 8628 §3.2), from its codes to its tokens. */
@ReferenceTable()
@Expires()
@Entity('device_requests')
export class DeviceRequest {
  @PrimaryColumn('uuid')
  id!: string;

  /** SHA-256 of the device code. */
  @Index('device_requests_device_code_hash', { unique: true })
  @Column('bytea', { name: 'device_code_hash' })
  deviceCodeHash!: Buffer;

  /** HMAC of the user code: eight letters could be guessed from a hash. */
  @Index('device_requests_user_code_hash', { unique: true })
  @Column('bytea', { name: 'user_code_hash' })
  userCodeHash!: Buffer;

  @Column('text', { name: 'client_id' })
  clientId!: string;

  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  @Column('text', { name: 'device_name', nullable: true })
  deviceName!: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent!: string | null;

  /** As `AUDIT_ADDRESSES` allows. */
  @Column('text', { nullable: true })
  address!: string | null;

  /** HMAC of the network of the device (IPv4 /16, IPv6 /32), for a comparison with that of the person. */
  @Column('bytea')
  network!: Buffer;

  /** Two digits, which a person compares; null: nothing is pushed. */
  @Column('smallint', { nullable: true })
  number!: number | null;

  /** The user whom the device named, and who alone may decide; null: anyone. */
  @Index('device_requests_hinted_user_id', { where: 'hinted_user_id IS NOT NULL' })
  @Column('uuid', { name: 'hinted_user_id', nullable: true })
  hintedUserId!: string | null;

  @Column('text', { default: 'open' })
  state!: DeviceRequestState;

  /** Who approved. */
  @Index('device_requests_user_id', { where: 'user_id IS NOT NULL' })
  @Column('uuid', { name: 'user_id', nullable: true })
  userId!: string | null;

  /** Session that approved; null: a sign-in on the page did. */
  @Column('uuid', { name: 'approved_by', nullable: true })
  approvedBy!: string | null;

  @Column('text', { nullable: true })
  provider!: string | null;

  /** An Identity, with the provider's tokens encrypted; of an approval by a session, its `acr` and `amr`. */
  @Column('jsonb', { nullable: true })
  identity!: object | null;

  /** When the provider was asked for the identity. */
  @Column('timestamptz', { name: 'requested_at', nullable: true })
  requestedAt!: Date | null;

  /** Seconds between the poll that was counted last and the next one. */
  @Column('integer', { name: 'poll_interval' })
  pollInterval!: number;

  /** Without polls that came too soon. */
  @Column('timestamptz', { name: 'polled_at', nullable: true })
  polledAt!: Date | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /** When the codes expire. */
  @Column('timestamptz', { name: 'codes_expire_at' })
  codesExpireAt!: Date;

  /** The row stays for the limit of an hour. */
  @Index('device_requests_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
