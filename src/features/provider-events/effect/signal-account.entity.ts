import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../../platform/database/expires.js';

/** What the provider has last said of an account, whose user need not have signed in. */
@Expires()
@Entity('signal_accounts')
export class SignalAccount {
  /** Hash of provider and subject (hashOfName). */
  @PrimaryColumn('bytea')
  subject!: Buffer;

  @Column('boolean')
  disabled!: boolean;

  /** A removed user whose account is disabled: an administrator permits sign-ins by this id. */
  @Index('signal_accounts_user_id', { where: 'user_id IS NOT NULL' })
  @Column('uuid', { name: 'user_id', nullable: true })
  userId!: string | null;

  /** Time of the event, or of the permission by an administrator. */
  @Column('timestamptz', { name: 'changed_at' })
  changedAt!: Date;

  /** Time of the last applied change of claims; null: none. */
  @Column('timestamptz', { name: 'claims_at', nullable: true })
  claimsAt!: Date | null;

  /** Of a disabled account `infinity`; else when no older event can arrive any more. */
  @Index('signal_accounts_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
