import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../database/expires.js';

/** A push that was done, so that the same one is not done twice (contract §4, `Idempotency-Key`). */
@Expires()
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of service key and idempotency key. */
  @PrimaryColumn('bytea', { name: 'key_hash' })
  keyHash!: Buffer;

  /** SHA-256 of the body: another body under the same key is a mistake. */
  @Column('bytea', { name: 'body_hash' })
  bodyHash!: Buffer;

  /** The first answer, as JSON; null while the push is on its way. */
  @Column('text', { nullable: true })
  answer!: string | null;

  @Index('idempotency_keys_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
