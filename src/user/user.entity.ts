import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Claims } from '../identity/claims.js';
import type { LastIdentity } from './last-identity.js';

/**
 * One (provider, provider_user_id), byte for byte; users are never joined by e-mail. `user_id` is derived
 * from both (identity/user-id.ts).
 */
@Entity('users')
@Index('users_with_claims', ['userId', 'claimsVersion'], { where: 'claims_version <> 0' })
@Index('users_created_at', ['createdAt', 'userId'])
@Index('users_email_key', ['emailKey', 'userId'], { where: 'email_key IS NOT NULL' })
@Index('users_provider', ['provider', 'createdAt', 'userId'])
@Index('users_suspended_at', ['createdAt', 'userId'], { where: 'suspended_at IS NOT NULL' })
@Index('users_roles', { synchronize: false })
@Index('users_removed_at', ['removedAt', 'userId'], { where: 'removed_at IS NOT NULL' })
@Index('users_merged_into', ['mergedInto'], { where: 'merged_into IS NOT NULL' })
@Index('users_claims_changed_at', ['claimsChangedAt', 'userId'], { where: 'claims_changed_at IS NOT NULL' })
export class User {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  @Column('text', { name: 'provider_user_id' })
  providerUserId!: string;

  @Column('text', { nullable: true })
  username!: string | null;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column('text', { name: 'avatar_url', nullable: true })
  avatarUrl!: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /** See LastIdentity; null: the provider said nothing else, or there was no sign-in yet. */
  @Column('jsonb', { nullable: true })
  identity!: LastIdentity | null;

  /** Claims from the provider, as of the last sign-in; null: none. */
  @Column('jsonb', { name: 'provider_claims', nullable: true })
  providerClaims!: Claims | null;

  /** Claims that the application has set; null: none. */
  @Column('jsonb', { name: 'application_claims', nullable: true })
  applicationClaims!: Claims | null;

  /** Effective claims, made from both; null: none. */
  @Column('jsonb', { nullable: true })
  claims!: Claims | null;

  /**
   * Grows with each change of the claims of a source; 0: the user never had any. It is a time in milliseconds
   * or later, so a removed user who signs in again has no version a second time.
   */
  @Column('bigint', { name: 'claims_version', default: 0 })
  claimsVersion!: string;

  /** Last change of the effective claims of a user who existed, for the revocation feed. */
  @Column('timestamptz', { name: 'claims_changed_at', nullable: true })
  claimsChangedAt!: Date | null;

  /** `addressKey` of the e-mail address, for its search; that of names is by UserWord. */
  @Column({ type: 'text', name: 'email_key', nullable: true, collation: 'C' })
  emailKey!: string | null;

  /** A suspended user cannot sign in. */
  @Column('timestamptz', { name: 'suspended_at', nullable: true })
  suspendedAt!: Date | null;

  /**
   * The user was suspended, and removed: of them, the id is left, and sign-ins are refused (docs/support.md).
   */
  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt!: Date | null;

  /**
   * The identity belongs to this user, and is joined to theirs. Of the row, the identity is left; it has
   * `suspendedAt` and `removedAt` as well, so that it is listed nowhere. It is never a user with a value
   * here.
   */
  @Column('uuid', { name: 'merged_into', nullable: true })
  mergedInto!: string | null;

  /** Last end of all sessions, or of all others: a sign-in that began before is refused. */
  @Column('timestamptz', { name: 'sessions_ended_at', nullable: true })
  sessionsEndedAt!: Date | null;

  /** Last use of a session, to the minute; null: there was no sign-in yet. */
  @Column('timestamptz', { name: 'last_seen_at', nullable: true, default: () => 'now()' })
  lastSeenAt!: Date | null;
}
