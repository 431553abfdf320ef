import type { Sql } from '../../database/sql.js';
import { KEY_LIVES, type KeyLife } from './key-life.js';

/** With the private part, still encrypted, only where it is needed and not known yet. */
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

/**
 * Reads the signing keys. SQL by hand: a key's state follows from its neighbours and the database's clock (KEY_LIVES), and
 * every instance asks twice a second.
 */
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
}
