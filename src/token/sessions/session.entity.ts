import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';
import { RETAINED_SESSIONS, OPEN } from './session.sql.js';

/** Session: one refresh token, stored as a hash (spec §2.2). It ends only by `expires_at`. */
@Expires({ unless: RETAINED_SESSIONS })
@Entity('refresh_tokens')
@Index('refresh_tokens_signed_out', ['signedOutAt', 'sessionId'], { where: 'signed_out_at IS NOT NULL' })
@Index('refresh_tokens_open', ['userId', 'deviceId', 'expiresAt'], { where: OPEN })
export class Session {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid', { name: 'session_id' })
  sessionId!: string;

  /** Null: session without a device. */
  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  /** See hashRefreshToken. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash!: Buffer;

  /** SHA-256 thumbprint (RFC 7638) of the session's key; null: not bound. */
  @Column('bytea', { nullable: true })
  jkt!: Buffer | null;

  /** Hash of the provider and its subject, by which the provider may end the session. */
  @Index('refresh_tokens_provider_subject', { where: 'provider_subject IS NOT NULL' })
  @Column('bytea', { name: 'provider_subject', nullable: true })
  providerSubject!: Buffer | null;

  /** Hash of the provider and its session, by which the provider may end the session. */
  @Index('refresh_tokens_provider_session', { where: 'provider_session IS NOT NULL' })
  @Column('bytea', { name: 'provider_session', nullable: true })
  providerSession!: Buffer | null;

  /** User id derived of the joined identity by which it has begun; null: it is the user's own. */
  @Column('uuid', { name: 'joined_identity_id', nullable: true })
  joinedIdentityId!: string | null;

  /** See IdTokens; null: the provider's ID token is not kept, or the session was signed out. */
  @Column('bytea', { name: 'id_token', nullable: true })
  idToken!: Buffer | null;

  /** To the minute. */
  @Column('timestamptz', { name: 'last_used_at', default: () => 'now()' })
  lastUsedAt!: Date;

  /** When the user last authenticated, as the provider reports it; null: not reported. */
  @Column('timestamptz', { name: 'auth_time', nullable: true })
  authTime!: Date | null;

  /** Address of the sign-in, as `AUDIT_ADDRESSES` allows. */
  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent!: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /**
   * Begin of the earlier sign-in on which this session rests (docs/device-sign-in.md#the-session); null:
   * none.
   */
  @Column('timestamptz', { name: 'begun_at', nullable: true })
  begunAt!: Date | null;

  @Index('refresh_tokens_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;

  /** End of the session without another use, if `SESSION_IDLE_TTL` is set. In no index: refreshes move it. */
  @Column('timestamptz', { name: 'idle_ends_at', nullable: true })
  idleEndsAt!: Date | null;

  /** Why it ends at `expiresAt`: a SessionEnd; or, after a sign-out, the EndCause. */
  @Column('text', { name: 'ends_because', nullable: true })
  endsBecause!: string | null;

  /** Set by a sign-out, which also sets `expires_at` to now. */
  @Column('timestamptz', { name: 'signed_out_at', nullable: true })
  signedOutAt!: Date | null;
}
