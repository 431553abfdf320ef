import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Sql } from '../database/sql.js';
import { challengeOf } from '../provider/adapters/authorization-request.js';
import { SampleCode } from './sample-code.entity.js';

/** Values that a code is bound to (spec §4.5.2, code rules). */
type CodeBinding = Omit<SampleCode, 'codeHash' | 'expiresAt'>;

const CODE_TTL = 60; // seconds; spec §4.5.2 recommends 10 minutes or less, and the service redeems at once

// Atomic: of concurrent exchanges one gets the row. An exchange that is late or has other values spends the
// code as well, since it is no longer a secret.
const REDEEM = {
  name: 'sample-code-redeem',
  text: `
    WITH spent AS (DELETE FROM sample_codes WHERE code_hash = $1 RETURNING *)
    SELECT client_id AS "clientId", redirect_uri AS "redirectUri", code_challenge AS "codeChallenge",
      provider_user_id AS "providerUserId", expires_at > now() AS fresh
    FROM spent`,
};

/**
 * Authorization codes of the sample provider: rows, so that any instance can redeem them; hashed, against a
 * stolen database.
 */
@Injectable()
export class CodeStore {
  constructor(
    @InjectRepository(SampleCode) private readonly codes: Repository<SampleCode>,
    private readonly sql: Sql,
  ) {}

  /** Issues a code of 256 random bits, valid for one exchange within 60 s. */
  async issue(binding: CodeBinding): Promise<string> {
    const code = randomBytes(32).toString('base64url');
    // the database's clock, which all instances share
    const expiresAt = () => `now() + interval '${CODE_TTL} seconds'`;
    await this.codes.insert({ ...binding, codeHash: hash('sha256', code, 'buffer'), expiresAt });
    return code;
  }

  /**
   * Spends a code.
   * @returns its `provider_user_id`; undefined if it is unknown, spent, expired, or bound to other values
   */
  async redeem(
    code: string,
    use: Pick<CodeBinding, 'clientId' | 'redirectUri'> & { readonly codeVerifier: string | undefined },
  ): Promise<string | undefined> {
    const codeHash = hash('sha256', code, 'buffer');
    const [row] = await this.sql.query<CodeBinding & { fresh: boolean }>(REDEEM, [codeHash]);
    // A verifier without a challenge: an attacker may have removed the challenge (RFC 9700 §4.8.2).
    const challenge = use.codeVerifier === undefined ? null : challengeOf(use.codeVerifier);
    const isGood =
      row?.fresh &&
      row.clientId === use.clientId &&
      row.redirectUri === use.redirectUri &&
      row.codeChallenge === challenge;
    return isGood ? row.providerUserId : undefined;
  }
}
