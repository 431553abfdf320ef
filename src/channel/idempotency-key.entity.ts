import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../platform/database/expires.js';

/** Result of a push, so that a repeated request does not push again (docs/realtime.md#pushing). */
@Expires()
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of service key and idempotency key. */
  @PrimaryColumn('bytea', { name: 'key_hash' })
  keyHash!: Buffer;

  /** SHA-256 of the body: another body with the same key is rejected. */
  @Column('bytea', { name: 'body_hash' })
  bodyHash!: Buffer;

  /** The first answer, as JSON; null while the push is running. */
  @Column('text', { nullable: true })
  answer!: string | null;

  @Index('idempotency_keys_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
