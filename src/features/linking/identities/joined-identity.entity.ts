import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';
import { OfUser } from '../../../platform/database/of-user.js';

/** Identity that a user has joined to their own. Its row in `users` has `merged_into`. */
@OfUser(true)
@Entity('joined_identities')
export class JoinedIdentity {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  /** One of each provider. */
  @PrimaryColumn('text')
  provider!: string;

  /** The user id that is derived of the identity, and so of one row: `users` has it once. */
  @Index('joined_identities_identity_id')
  @Column('uuid', { name: 'identity_id' })
  identityId!: string;

  @Column('text', { name: 'provider_user_id' })
  providerUserId!: string;

  /** As of the last sign-in by it. */
  @Column('text', { nullable: true })
  username!: string | null;

  @Column('text', { nullable: true })
  email!: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'linked_at' })
  linkedAt!: Date;
}
