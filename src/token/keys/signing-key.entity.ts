import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../platform/database/reference-table.js';

/** The public part of a P-256 key (RFC 7518 §6.2.1). */
export interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y: string;
}

/**
 * Key pair that signs access tokens (ES256). The private part is encrypted with a key derived from
 * SECRET_KEY.
 */
@ReferenceTable()
@Entity('signing_keys')
export class SigningKey {
  @PrimaryColumn('text')
  kid!: string;

  @Column('jsonb', { name: 'public_jwk' })
  publicJwk!: PublicJwk;

  /**
   * AES-256-GCM over the PKCS #8 form: nonce (12 bytes), tag (16), ciphertext; the kid is authenticated with
   * it.
   */
  @Column('bytea', { name: 'encrypted_private_key', select: false })
  encryptedPrivateKey!: Buffer;

  /** It is published from then on. */
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /** It signs from then on, until a younger key does. */
  @Column('timestamptz', { name: 'active_at' })
  activeAt!: Date;

  /** Longest lifetime, in seconds, that any instance gives a token of this key. */
  @Column('integer', { name: 'token_ttl' })
  tokenTtl!: number;

  /** Its tokens are rejected from then on. */
  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;
}
