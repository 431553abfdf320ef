import type { PublicJwk } from './signing-key.entity.js';

/**
 * - `next`: published, signs later
 * - `signing`
 * - `published`: no longer signs; its last token may still be valid
 * - `retired`: its last token has expired
 * - `revoked`: withdrawn by an operator
 */
type KeyState = 'next' | 'signing' | 'published' | 'retired' | 'revoked';

/** State of a signing key at the time of the query, by the database's clock; without its private part. */
export interface KeyLife {
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  readonly state: KeyState;
  readonly createdAt: Date;
  /** First use. */
  readonly activeAt: Date;
  readonly revokedAt: Date | null;
  /** Its tokens are rejected from then on. Null: not known yet. */
  readonly endsAt: Date | null;
  /** Longest lifetime of a token that it signs, in seconds. */
  readonly tokenTtl: number;
  /** Seconds since its first use; negative before it. */
  readonly age: number;
}

export interface StoredKey extends KeyLife {
  readonly encryptedPrivateKey: Buffer;
}

/** Whether a key signs now or will sign later. */
export function isUsable({ state }: KeyLife): boolean {
  return state === 'signing' || state === 'next';
}

/** Seconds by which a key outlives its last token: an instance may switch to the next key a little late. */
const MARGIN_S = 60;

/**
 * Subquery with the columns of `StoredKey`. The successor of a key is the next one that was or will be used;
 * a key that was revoked before its first use does not count. `clock_timestamp()`, since `now()` is the time
 * before a wait for a lock.
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

/** SQL expression: longest lifetime, in seconds, of a token that is or will be valid. */
export const LONGEST_TOKEN_TTL = `(
  SELECT coalesce(max("tokenTtl"), 0) FROM ${KEY_LIVES} WHERE state IN ('next', 'signing', 'published'))`;
