import type { Sql } from '../database/sql.js';
import { isUsable, KEY_LIVES, type KeyLife } from './key-life.js';

/** The private part, still encrypted, only where it is of use and was not known. */
export type ReadKey = KeyLife & { readonly encryptedPrivateKey: Buffer | null };

const LIFE = `kid, "publicJwk", state, "createdAt", "activeAt", "revokedAt", "endsAt", "tokenTtl", age`;
const NEWEST_FIRST = `ORDER BY "activeAt" DESC, kid DESC`;

const LIST = { name: 'signing-keys-all', text: `SELECT ${LIFE} FROM ${KEY_LIVES} ${NEWEST_FIRST}` };

const READ = {
  name: 'signing-keys',
  text: `
    SELECT ${LIFE}, CASE WHEN state IN ('signing', 'next') AND kid <> ALL ($1::text[])
      THEN "encryptedPrivateKey" END AS "encryptedPrivateKey"
    FROM ${KEY_LIVES} WHERE state <> 'retired' ${NEWEST_FIRST}`,
};

const RAISE_TOKEN_TTL = {
  name: 'signing-keys-token-ttl',
  text: 'UPDATE signing_keys SET token_ttl = $1 WHERE token_ttl < $1 AND kid = ANY ($2::text[])',
};

/** Reads the signing keys from the database. */
export class KeyReader {
  constructor(private readonly sql: Sql) {}

  /** Every key there ever was, newest first, without private parts. */
  list(): Promise<KeyLife[]> {
    return this.sql.query<KeyLife>(LIST, []);
  }

  /**
   * The keys whose tokens may still be good, and those that were revoked; newest first.
   * @param known kids of keys whose private part is not needed again
   */
  read(known: readonly string[]): Promise<ReadKey[]> {
    return this.sql.query<ReadKey>(READ, [known]);
  }

  /**
   * Sees to it that the keys stay published until the last token of this instance has expired: its setting may be
   * longer than the one of the instance that made the key, and may be shorter after the next restart.
   * @param tokenTtl seconds
   */
  async ensureTokenTtl(keys: readonly KeyLife[], tokenTtl: number): Promise<void> {
    const shorter = keys.filter((key) => isUsable(key) && key.tokenTtl < tokenTtl).map(({ kid }) => kid);
    if (shorter.length > 0) await this.sql.query(RAISE_TOKEN_TTL, [tokenTtl, shorter]);
  }
}
