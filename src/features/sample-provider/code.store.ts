import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Raw, type Repository } from 'typeorm';
import { challengeOf } from '../../provider/adapters/authorization-request.js';
import { SampleCode } from './sample-code.entity.js';

/** Values that a code is bound to (spec §4.5.2, code rules). */
type CodeBinding = Omit<SampleCode, 'codeHash' | 'expiresAt'>;

/** A deleted row, as PostgreSQL returns it. */
interface SpentRow {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly code_challenge: string | null;
  readonly provider_user_id: string;
  readonly expires_at: Date;
}

const CODE_TTL = 60; // seconds; spec §4.5.2 recommends 10 minutes or less, and the service redeems at once

/** Authorization codes, as rows: any instance can redeem them. Hashed, against a stolen database. */
@Injectable()
export class CodeStore {
  constructor(@InjectRepository(SampleCode) private readonly codes: Repository<SampleCode>) {}

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
   * @returns its `provider_user_id`, and when the password was checked, in seconds since the epoch; undefined
   *   if it is unknown, spent, expired, or bound to other values
   */
  async redeem(
    code: string,
    use: Pick<CodeBinding, 'clientId' | 'redirectUri'> & { readonly codeVerifier: string | undefined },
  ): Promise<{ readonly providerUserId: string; readonly authTime: number } | undefined> {
    const codeHash = hash('sha256', code, 'buffer');
    // Of concurrent exchanges one gets the row. An exchange with other values spends the code as well, since
    // it is no longer a secret. The time is in the condition: a distributed database may reject now() in
    // RETURNING.
    const expiresAt = Raw((column) => `${column} > now()`);
    const { raw } = await this.codes
      .createQueryBuilder()
      .delete()
      .where({ codeHash, expiresAt })
      .returning('*')
      .execute();
    const [row] = raw as (SpentRow | undefined)[];
    // A verifier without a challenge: an attacker may have removed the challenge (RFC 9700 §4.8.2).
    const challenge = use.codeVerifier === undefined ? null : challengeOf(use.codeVerifier);
    const isGood =
      row?.client_id === use.clientId &&
      row.redirect_uri === use.redirectUri &&
      row.code_challenge === challenge;
    if (!isGood) return undefined;
    const authTime = Math.floor(row.expires_at.getTime() / 1000) - CODE_TTL;
    return { providerUserId: row.provider_user_id, authTime };
  }
}
