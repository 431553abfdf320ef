import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Identity } from '../../../provider/identity/identity.js';
import { Expires } from '../../../platform/database/expires.js';
import { OfUser } from '../../../platform/database/of-user.js';

/** What a session that is approved by another one takes over from it (docs/device-sign-in.md#the-session). */
export type InheritedFacts = Pick<
  Identity,
  'email' | 'subject' | 'session' | 'authTime' | 'acr' | 'amr' | 'sessionExpiry' | 'rawClaims'
> & {
  readonly isEmailVerified: boolean;
  readonly hostedDomain?: string | null | undefined;
};

/** Facts of a sign-in while the grant is on. Without them, a session cannot approve others. */
@OfUser(true)
@Expires()
@Entity('device_session_facts')
export class SessionFacts {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid', { name: 'session_id' })
  sessionId!: string;

  @Column('jsonb')
  facts!: InheritedFacts;

  /** Session that approved this one, which then approves none. */
  @Column('uuid', { name: 'approved_by', nullable: true })
  approvedBy!: string | null;

  @Index('device_session_facts_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
