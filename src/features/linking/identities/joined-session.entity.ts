import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../../platform/database/expires.js';
import { OfUser } from '../../../platform/database/of-user.js';

/** Session that has begun by a joined identity. */
@Expires({})
@OfUser(true)
@Entity('joined_sessions')
export class JoinedSession {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid', { name: 'session_id' })
  sessionId!: string;

  @Index('joined_sessions_identity_id')
  @Column('uuid', { name: 'identity_id' })
  identityId!: string;

  /** End of the session at the latest. */
  @Index('joined_sessions_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
