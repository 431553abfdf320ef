import type { PublicJwk } from './signing-key.entity.js';

/**
 * - `next`: published, signs later
 * - `signing`
 * - `published`: signs no more; its last token may still be good
 * - `retired`: its last token has expired
 * - `revoked`: withdrawn by an operator
 */
type KeyState = 'next' | 'signing' | 'published' | 'retired' | 'revoked';

/** A key as it stands at the moment of the question, by the database's clock; without its private part. */
export interface KeyLife {
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  readonly state: KeyState;
  readonly createdAt: Date;
  /** Its first use. */
  readonly activeAt: Date;
  readonly revokedAt: Date | null;
  /** From this time on its tokens are refused. Null: not known yet. */
  readonly endsAt: Date | null;
  /** Seconds: the longest life of a token that it signs. */
  readonly tokenTtl: number;
  /** Seconds since its first use; negative before it. */
  readonly age: number;
}

export interface StoredKey extends KeyLife {
  readonly encryptedPrivateKey: Buffer;
}

/** Whether a key may sign, now or later. */
export function isUsable({ state }: KeyLife): boolean {
  return state === 'signing' || state === 'next';
}

/** Seconds by which a key outlives its last token: an instance may notice a little late that the next one signs. */
const MARGIN_S = 60;

/**
 * The columns of `StoredKey`, for all keys, as a subquery. A key is followed by the next one that was, or will be, in
 * use: one that was revoked before its first use does not count. `clock_timestamp()`, not `now()`: a transaction that
 * waited for a lock must see the time after the wait.
 */
export const KEY_LIVES = `(
  SELECT kid, public_jwk AS "publicJwk", created_at AS "createdAt", active_at AS "activeAt",
    revoked_at AS "revokedAt", ends_at AS "endsAt", token_ttl AS "tokenTtl",
    extract(epoch FROM clock_timestamp() - active_at)::float8 AS age,
    encrypted_private_key AS "encryptedPrivateKey",
    CASE
      WHEN revoked_at IS NOT NULL THEN 'revoked'
      WHEN active_at > clock_timestamp() THEN 'next'
      WHEN followed_at IS NULL OR followed_at > clock_timestamp() THEN 'signing'
      WHEN ends_at > clock_timestamp() THEN 'published'
      ELSE 'retired'
    END AS state
  FROM (
    SELECT *, least(revoked_at, followed_at + (token_ttl + ${MARGIN_S}) * interval '1 second') AS ends_at
    FROM (
      SELECT *, min(active_at) FILTER (WHERE revoked_at IS NULL OR revoked_at > active_at) OVER (
        ORDER BY active_at, kid ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ) AS followed_at
      FROM signing_keys
    ) AS with_follower
  ) AS with_end
) AS lives`;

/** Seconds, as an SQL expression: the longest life that a token can have which is signed now, or was and is still good. */
export const LONGEST_TOKEN_TTL = `(
  SELECT coalesce(max("tokenTtl"), 0) FROM ${KEY_LIVES} WHERE state IN ('next', 'signing', 'published'))`;
