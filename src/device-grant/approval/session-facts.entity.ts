import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Identity } from '../../provider/identity/identity.js';
import { ReferenceTable } from '../../database/citus.js';
import { Expires } from '../../database/expires.js';

/** What a session that is approved by another one takes over from it (docs/device-sign-in.md#the-session). */
export type InheritedFacts = Pick<
  Identity,
  'email' | 'subject' | 'session' | 'authTime' | 'acr' | 'amr' | 'sessionExpiry'
> & {
  readonly directoryName?: string | undefined;
  readonly isEmailVerified: boolean;
  readonly hostedDomain?: string | null | undefined;
};

/** Facts of a sign-in while the grant is on. Without them, a session cannot approve others. */
@ReferenceTable()
@Expires()
@Entity('device_session_facts')
export class SessionFacts {
  @PrimaryColumn('uuid', { name: 'session_id' })
  sessionId!: string;

  @Index('device_session_facts_user_id')
  @Column('uuid', { name: 'user_id' })
  userId!: string;

  @Column('jsonb')
  facts!: InheritedFacts;

  /** Whether another session approved this one, which then approves none. */
  @Column('boolean', { name: 'by_device_grant' })
  byDeviceGrant!: boolean;

  @Index('device_session_facts_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
