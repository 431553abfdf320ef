import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../platform/database/expires.js';

/**
 * Removed user whose claims had changed, for readers of the revocation feed: the claims are no longer those
 * of the id. A row stays as long as a token with the claims may be valid.
 */
@Expires()
@Entity('void_claims')
@Index('void_claims_voided_at', ['voidedAt', 'userId'])
@Index('void_claims_expires_at', ['expiresAt'])
export class VoidClaims {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('timestamptz', { name: 'voided_at' })
  voidedAt!: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
