import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';

/** Authorization code of the sample provider. */
@Expires()
@Entity('sample_codes')
export class SampleCode {
  /** SHA-256 of the code. */
  @PrimaryColumn('bytea', { name: 'code_hash' })
  codeHash!: Buffer;

  @Column('text', { name: 'client_id' })
  clientId!: string;

  @Column('text', { name: 'redirect_uri' })
  redirectUri!: string;

  /** S256 challenge (RFC 7636), if the authorization request had one. */
  @Column('text', { name: 'code_challenge', nullable: true })
  codeChallenge!: string | null;

  @Column('text', { name: 'provider_user_id' })
  providerUserId!: string;

  @Index('sample_codes_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
