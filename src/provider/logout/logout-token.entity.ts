import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../database/expires.js';

/**
 * A provider's logout token that was obeyed, so that it is not obeyed twice (OpenID Connect Back-Channel Logout 1.0 §2.6); or what
 * one has named, for a moment (LoggedOut).
 */
@Expires()
@Entity('logout_tokens')
export class LogoutToken {
  /** SHA-256 of the provider and the token's `jti`, or of the provider and a name (hashOfName). */
  @PrimaryColumn('bytea', { name: 'token_hash' })
  tokenHash!: Buffer;

  /** When it is needed no more: the token has expired. */
  @Index('logout_tokens_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
