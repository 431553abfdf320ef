import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../database/citus.js';

/** The public part of a P-256 key (RFC 7518 §6.2.1). */
export interface PublicJwk {
  kty: string;
  crv: string;
  x: string;
  y: string;
}

/** A key pair that signs access tokens (ES256). The private part is stored encrypted with a key derived from SECRET_KEY. */
@ReferenceTable()
@Entity('signing_keys')
export class SigningKey {
  @PrimaryColumn('text')
  kid!: string;

  @Column('jsonb', { name: 'public_jwk' })
  publicJwk!: PublicJwk;

  /** AES-256-GCM over the PKCS #8 form: nonce (12 bytes), tag (16), ciphertext; the kid is authenticated with it. */
  @Column('bytea', { name: 'encrypted_private_key', select: false })
  encryptedPrivateKey!: Buffer;

  /** From this time on it is published. */
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  /** From this time on it signs, until a younger key does. */
  @Column('timestamptz', { name: 'active_at' })
  activeAt!: Date;

  /** Seconds: the longest life that any instance gives a token which it signs with this key. */
  @Column('integer', { name: 'token_ttl' })
  tokenTtl!: number;

  /** From this time on its tokens are refused everywhere, whatever their life. */
  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;
}
