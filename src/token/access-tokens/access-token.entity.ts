import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';
import { Transient } from '../../platform/database/transient.js';

/** Access token in plaintext (spec §2.1): in this column only, which is never selected. */
@Expires({ first: true }) // removed within a minute
@Transient()
@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid')
  jti!: string;

  @Column('uuid', { name: 'session_id' })
  sessionId!: string;

  @Index('access_tokens_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;

  @Column('text', { select: false })
  token!: string;
}
