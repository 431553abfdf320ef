import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Sql } from '../../platform/database/sql.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Verified } from '../extensions/sign-in-steps.js';
import { SealedIdentities, type SealedIdentity } from '../sealed-identities.js';
import { AuthorizationCode } from './authorization-code.entity.js';
import { CODE_PREFIX } from './clients.dto.js';
import type { ClientRequest } from './client-request.js';

/** Seconds; RFC 6749 §4.1.2 recommends ten minutes at most. The client has only to send it back. */
const CODE_TTL = 60;

export type CodeBinding = Pick<ClientRequest, 'clientId' | 'redirectUri' | 'codeChallenge'>;

// Raw, since atomic: deleting spends the code. Of all requests that race for it, one gets the row (RFC 6749
// §4.1.2).
const REDEEM = {
  name: 'authorization-code-redeem',
  text: `
    WITH spent AS (DELETE FROM authorization_codes WHERE code_hash = $1 RETURNING *)
    SELECT client_id AS "clientId", redirect_uri AS "redirectUri", code_challenge AS "codeChallenge", provider, identity,
      requested_at AS "requestedAt", expires_at > now() AS fresh
    FROM spent`,
};

type Row = CodeBinding & SealedIdentity & { readonly fresh: boolean };

/** Codes for stock OAuth clients. Stored hashed: a copy of the database redeems none. */
@Injectable()
export class AuthorizationCodes {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    private readonly identities: SealedIdentities,
  ) {}

  /** A new code: 256 random bits, good for one request within 60 s. */
  async issue({ clientId, redirectUri, codeChallenge }: CodeBinding, verified: Verified): Promise<string> {
    const code = CODE_PREFIX + randomBytes(32).toString('base64url');
    const codeHash = hash('sha256', code, 'buffer');
    await this.dataSource.manager.insert(AuthorizationCode, {
      codeHash,
      clientId,
      redirectUri,
      codeChallenge,
      userId: deriveUserId(verified.provider, verified.identity.providerUserId),
      ...this.identities.seal(verified, ownerOf(codeHash)),
      expiresAt: () => `now() + interval '${CODE_TTL} s'`,
    });
    return code;
  }

  /**
   * Deletes a code, and returns what it is bound to.
   * @throws OAuthError `invalid_grant` if it is unknown, used or expired
   */
  async redeem(code: string): Promise<CodeBinding & Verified> {
    const codeHash = hash('sha256', code, 'buffer');
    const [row] = await this.sql.query<Row>(REDEEM, [codeHash]);
    if (!row?.fresh) throw new OAuthError('invalid_grant', 'the code is unknown, used or expired');
    return { ...row, ...this.identities.open(row, ownerOf(codeHash)) };
  }

  /** Deletes the codes of a removed user, which no sign-in accepts any more. */
  async forget(userId: string): Promise<void> {
    await this.dataSource.manager.delete(AuthorizationCode, { userId });
  }
}

function ownerOf(codeHash: Buffer): string {
  return `code ${codeHash.toString('hex')}`;
}
