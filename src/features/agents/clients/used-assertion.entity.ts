import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../../platform/database/expires.js';

/** An assertion that was used: each is good once (RFC 7523 §3). */
@Expires()
@Entity('agent_assertions')
export class UsedAssertion {
  /** SHA-256 of its owner and its `jti`. */
  @PrimaryColumn('bytea', { name: 'id_hash' })
  idHash!: Buffer;

  @Index('agent_assertions_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
