import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../../platform/database/expires.js';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import type { StoredAuthentication } from '../clients/client-authentication.js';

/**
 * Authorization request of a program: before the sign-in, then with the person who has signed in, and, once
 * they have allowed it, with the code.
 */
@ReferenceTable()
@Expires()
@Entity('agent_requests')
export class AgentRequest {
  /** SHA-256 of the id, which the addresses of the pages have. */
  @PrimaryColumn('bytea', { name: 'id_hash' })
  idHash!: Buffer;

  /** SHA-256 of the secret in the cookie of the browser that began. */
  @Column('bytea', { name: 'browser_hash' })
  browserHash!: Buffer;

  @Column('text', { name: 'client_id' })
  clientId!: string;

  @Column('text', { name: 'client_name' })
  clientName!: string;

  @Column('jsonb')
  authentication!: StoredAuthentication;

  @Column('text', { name: 'redirect_uri' })
  redirectUri!: string;

  /** Returned unchanged; null: the program sent none. */
  @Column('text', { nullable: true })
  state!: string | null;

  /** S256 (RFC 7636 §4.2). */
  @Column('text', { name: 'code_challenge' })
  codeChallenge!: string;

  /** As AGENTS_FILE writes it. */
  @Column('text')
  resource!: string;

  /** Separated by spaces: what the program asks for, and after the consent what the person allows. */
  @Column('text')
  scope!: string;

  /** Parameters of the sign-in, for another account. */
  @Column('jsonb')
  passed!: Readonly<Record<string, string>>;

  @Column('uuid', { name: 'device_id' })
  deviceId!: string;

  /** Of the person who has signed in; null: not yet signed in. */
  @Index('agent_requests_user_id', { where: 'user_id IS NOT NULL' })
  @Column('uuid', { name: 'user_id', nullable: true })
  userId!: string | null;

  @Column('text', { nullable: true })
  provider!: string | null;

  /** An Identity, with the provider's tokens encrypted. */
  @Column('jsonb', { nullable: true })
  identity!: object | null;

  /** When the provider was asked for the identity. */
  @Column('timestamptz', { name: 'requested_at', nullable: true })
  requestedAt!: Date | null;

  /** Address and user agent of the browser at the consent, for the device. */
  @Column('jsonb', { nullable: true })
  browser!: { readonly address: string | null; readonly userAgent: string | null } | null;

  /** SHA-256 of the code; null: not allowed yet. */
  @Index('agent_requests_code_hash', { unique: true, where: 'code_hash IS NOT NULL' })
  @Column('bytea', { name: 'code_hash', nullable: true })
  codeHash!: Buffer | null;

  @Index('agent_requests_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
