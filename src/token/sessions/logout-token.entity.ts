import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';

/**
 * Used token of a provider, against replay (as OpenID Connect Back-Channel Logout 1.0 §2.6 requires); or a
 * name in a recent end of sessions (RecentEnds).
 */
@Expires()
@Entity('logout_tokens')
export class LogoutToken {
  /** Hash of the token's `jti` or of a name (hashOfName). */
  @PrimaryColumn('bytea', { name: 'token_hash' })
  tokenHash!: Buffer;

  @Index('logout_tokens_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
