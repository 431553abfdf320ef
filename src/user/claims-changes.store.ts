import { Injectable } from '@nestjs/common';
import { plainArray } from '../platform/database/batching.js';
import { Sql } from '../platform/database/sql.js';

/** Last change of a user's claims. */
export interface ClaimsChange {
  readonly userId: string;
  /** Exact time, as a text: a Date would lose the microseconds. */
  readonly key: string;
  /** The user was removed. */
  readonly voidedAt: Date | null;
}

export interface CurrentClaims extends Pick<ClaimsChange, 'userId' | 'key'> {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly changedAt: Date;
}

/** Changes that one statement reads. */
export const CHANGES = 1000;
/** Claims of so many users are read by one statement: up to 8 KiB each. */
export const CLAIMS = 200;

// Raw and prepared, since each instance reads twice a second: a union whose parts are bounded by an index.
const FIND = {
  name: 'claims-changes',
  text: `
    SELECT user_id AS "userId", at::text AS key, "voidedAt" FROM (
      (SELECT user_id, claims_changed_at AS at, NULL::timestamptz AS "voidedAt" FROM users
       WHERE (claims_changed_at, user_id) > ($1::timestamptz, $2::uuid) AND claims_changed_at <= $3::timestamptz
       ORDER BY claims_changed_at, user_id LIMIT ${CHANGES})
      UNION ALL
      (SELECT user_id, voided_at, voided_at FROM void_claims
       WHERE (voided_at, user_id) > ($1::timestamptz, $2::uuid) AND voided_at <= $3::timestamptz
       ORDER BY voided_at, user_id LIMIT ${CHANGES})
    ) AS changes ORDER BY at, user_id LIMIT ${CHANGES}`,
};
// Raw: `key` is the exact time.
const READ = {
  name: 'changed-claims',
  text: `
    SELECT user_id AS "userId", coalesce(claims, '{}') AS claims, claims_changed_at AS "changedAt",
      claims_changed_at::text AS key
    FROM users WHERE user_id = ANY ($1::uuid[]) AND claims_changed_at IS NOT NULL`,
};

@Injectable()
export class ClaimsChangesStore {
  constructor(private readonly sql: Sql) {}

  /**
   * Returns up to CHANGES changes of claims, and removals of users with changed claims, oldest first.
   * @param after change before the first one; `to`: time, inclusive
   */
  find(after: Pick<ClaimsChange, 'userId' | 'key'>, to: string): Promise<ClaimsChange[]> {
    return this.sql.query<ClaimsChange>(FIND, [after.key, after.userId, to]);
  }

  /** Returns present claims, not of a removed user who is a new one. @param userIds CLAIMS at most */
  read(userIds: readonly string[]): Promise<CurrentClaims[]> {
    return this.sql.query<CurrentClaims>(READ, [plainArray(userIds)]);
  }
}
