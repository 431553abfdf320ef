import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';

/** Authorization code for a stock OAuth client, with the identity that the provider verified. */
@Expires()
@Entity('authorization_codes')
export class AuthorizationCode {
  /** SHA-256 of the code. */
  @PrimaryColumn('bytea', { name: 'code_hash' })
  codeHash!: Buffer;

  @Column('text', { name: 'client_id' })
  clientId!: string;

  @Column('text', { name: 'redirect_uri' })
  redirectUri!: string;

  /** S256 (RFC 7636 §4.2). */
  @Column('text', { name: 'code_challenge' })
  codeChallenge!: string;

  /** May not be in `users` yet: the user is written when the code is redeemed. */
  @Index('authorization_codes_user_id')
  @Column('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  /** An Identity, with its ID token encrypted. */
  @Column('jsonb')
  identity!: object;

  /**
   * Begin of the sign-in: after a later end of all sessions there is no session
   * (docs/development.md#ends-of-sessions).
   */
  @Column('timestamptz', { name: 'requested_at' })
  requestedAt!: Date;

  @Index('authorization_codes_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
