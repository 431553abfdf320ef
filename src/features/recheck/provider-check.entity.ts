import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';

/**
 * User whom the provider is asked about again (docs/guides/recheck.md), with the
 * newest refresh token of the provider. The row ends with the last session of the user.
 */
@Expires({})
@Entity('provider_checks')
@Index('provider_checks_due', ['provider', 'dueAt'], { where: 'due_at IS NOT NULL' })
export class ProviderCheck {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  /** Encrypted (ProviderTokens). */
  @Column('bytea', { name: 'refresh_token' })
  refreshToken!: Buffer;

  /** Hash of the provider's `sub`. */
  @Column('bytea', { nullable: true })
  subject!: Buffer | null;

  /** Last sign-in. */
  @Column('timestamptz', { name: 'signed_in_at', default: () => 'now()' })
  signedInAt!: Date;

  /** Begin of the last call with a good answer, or the last sign-in. */
  @Column('timestamptz', { name: 'checked_at', default: () => 'now()' })
  checkedAt!: Date;

  /** Time of the next call. During a call: the end of the lease. Null: no session is in use. */
  @Column('timestamptz', { name: 'due_at', nullable: true })
  dueAt!: Date | null;

  /** Id of the last call; null after a sign-in. A former call writes nothing. */
  @Column('uuid', { nullable: true })
  lease!: string | null;

  /** Begin of the first call without a good answer, since the last one with a good answer. */
  @Column('timestamptz', { name: 'failing_since', nullable: true })
  failingSince!: Date | null;

  @Column('integer', { default: 0 })
  attempts!: number;

  /** When the first session ends that a `session_expiry` has cut; null: none. */
  @Index('provider_checks_ends_at', { where: 'ends_at IS NOT NULL' })
  @Column('timestamptz', { name: 'ends_at', nullable: true })
  endsAt!: Date | null;

  /** When the last session ends at the latest. */
  @Index('provider_checks_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
