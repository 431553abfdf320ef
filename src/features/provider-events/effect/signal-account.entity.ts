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

  /** Time of the event, or of the permission by an administrator. */
  @Column('timestamptz', { name: 'changed_at' })
  changedAt!: Date;

  /** Of a disabled account `infinity`; else when no older event can arrive any more. */
  @Index('signal_accounts_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
