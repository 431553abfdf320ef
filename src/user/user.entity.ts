import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/**
 * Someone who has signed in: one (provider, provider_user_id), byte for byte (contract §6).
 * Users are never joined by e-mail. `user_id` follows from these two, see user-id.ts.
 */
@Entity('users')
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
}
