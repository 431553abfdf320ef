import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Claims } from '../../identity/claims.js';
import { OfUser } from '../../platform/database/of-user.js';

/**
 * Claims of the admission service, as of the last sign-in: part of the provider's, and laid over them again
 * when they change. Users without any have no row.
 */
@OfUser(true)
@Entity('admission_claims')
export class AdmissionClaims {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('jsonb')
  claims!: Claims;
}
