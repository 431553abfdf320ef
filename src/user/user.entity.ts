import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/**
 * One (provider, provider_user_id), byte for byte (contract §6); users are never joined by e-mail. `user_id` is derived from both
 * (user-id.ts).
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
