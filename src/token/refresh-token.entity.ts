import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A session: one refresh token, of which only the hash is kept (spec §2.2). It ends only by `expires_at`. */
@Entity('refresh_tokens')
export class RefreshToken {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid', { name: 'session_id' })
  sessionId!: string;

  /** Null: the client named no device (contract §4). */
  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  /** SHA-256 of the whole token text. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash!: Buffer;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
