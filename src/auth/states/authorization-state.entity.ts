import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../../platform/database/expires.js';
import type { ClientRequest } from '../clients/client-request.js';

/** A sign-in that has begun (spec §2.3): what its state stands for until it is spent or expires. */
@Expires()
@Entity('authorization_states')
export class AuthorizationState {
  /** SHA-256 of the state: a copy of the database finishes no sign-in. */
  @PrimaryColumn('bytea', { name: 'state_hash' })
  stateHash!: Buffer;

  @Column('text')
  provider!: string;

  @Column('text', { name: 'redirect_uri' })
  redirectUri!: string;

  /** S256 challenge of the client (RFC 7636), if it sent one. */
  @Column('text', { name: 'code_challenge', nullable: true })
  codeChallenge!: string | null;

  /** What the provider's adapter keeps with the state. */
  @Column('jsonb', { nullable: true })
  memory!: Record<string, unknown> | null;

  /** What a stock client asked for; null: a sign-in of the specification. Each flow refuses the other's. */
  @Column('jsonb', { name: 'client_request', nullable: true })
  clientRequest!: ClientRequest | null;

  @Index('authorization_states_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
