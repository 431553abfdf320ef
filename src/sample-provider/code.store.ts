import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Sql } from '../database/sql.js';
import { SampleCode } from './sample-code.entity.js';

/** What a code is bound to (spec §4.5.2, code rules). */
export interface CodeBinding {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly providerUserId: string;
}

/** Seconds; spec §4.5.2 recommends 10 minutes or less, and the service redeems at once. */
const CODE_TTL = 60;

// In one statement, since deleting is spending: of any number of exchanges that race, one gets the row. One that then turns
// out to be too late or to come from somebody else has spent the code all the same: whoever shows it, it is no secret any more.
const REDEEM = {
  name: 'sample-code-redeem',
  text: `
    DELETE FROM sample_codes WHERE code_hash = $1
    RETURNING client_id AS "clientId", redirect_uri AS "redirectUri", provider_user_id AS "providerUserId",
      expires_at > now() AS fresh`,
};

/** The sample provider's authorization codes: rows, so that any instance redeems them; hashed, so that a copy of the database redeems none. */
@Injectable()
export class CodeStore {
  constructor(
    @InjectRepository(SampleCode) private readonly codes: Repository<SampleCode>,
    private readonly sql: Sql,
  ) {}

  /** A new code: 256 random bits, good for one exchange within 60 s. */
  async issue({ clientId, redirectUri, providerUserId }: CodeBinding): Promise<string> {
    const code = randomBytes(32).toString('base64url');
    const expiresAt = () => `now() + interval '${CODE_TTL} seconds'`; // the database's clock, which all instances share
    await this.codes.insert({ codeHash: hash(code), clientId, redirectUri, providerUserId, expiresAt });
    return code;
  }

  /**
   * Spends a code.
   * @returns whose it was; undefined when it is unknown, spent, expired, or bound to something else.
   */
  async redeem(code: string, bound: Omit<CodeBinding, 'providerUserId'>): Promise<string | undefined> {
    const [row] = await this.sql.query<CodeBinding & { fresh: boolean }>(REDEEM, [hash(code)]);
    const isGood = row?.fresh && row.clientId === bound.clientId && row.redirectUri === bound.redirectUri;
    return isGood ? row.providerUserId : undefined;
  }
}

function hash(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}
