import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import type { SessionIds } from '../../platform/events.js';
import { uuidOfHash, UUID } from '../../platform/http/parameters/uuid.js';
import type { DpopProof } from '../dpop/dpop-proofs.js';
import type { Authentication } from '../refresh/refresh-token.js';
import { KeyRing, signJwt } from '../keys/key-ring.js';
import { pickClaims, tokenMembers, type Claims } from '../../identity/claims.js';

/** `client_id` of all other tokens (RFC 9068 §2.2): clients are not registered. */
const CLIENT_ID = 'latchkey';

/** Claims of an access token (RFC 9068 §2.2). Times are seconds since the epoch. */
export interface AccessTokenClaims extends Authentication {
  readonly iss: string;
  readonly aud: string;
  /** The user. */
  readonly sub: string;
  /** The session. */
  readonly sid: string;
  readonly device_id?: string;
  readonly client_id: string;
  /** Of a delegated session. */
  readonly scope?: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}

/** Returns the claims of a verified payload, or undefined if it is not one of our access tokens. */
export function readClaims(payload: unknown): AccessTokenClaims | undefined {
  const claims = payload as Partial<Record<keyof AccessTokenClaims, unknown>>;
  const { sub, sid, jti, device_id: deviceId, iat, exp } = claims;
  const ids = [sub, sid, jti, ...(deviceId === undefined ? [] : [deviceId])];
  if (!ids.every((id) => typeof id === 'string' && UUID.test(id))) return undefined;
  // jsonwebtoken accepts a token without exp.
  if (!Number.isInteger(iat) || !Number.isInteger(exp)) return undefined;
  return payload as AccessTokenClaims;
}

/** Signed access token, which is valid once its row is stored. */
export interface IssuedAccessToken {
  readonly token: string;
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly exp: number;
  /** Expiry of its row, in seconds since the epoch: with a proof it may be later than that of the token. */
  readonly expiresAt: number;
  /** Lifetime in seconds. */
  readonly expiresIn: number;
}

/**
 * Seconds for which a row records that its proof was used. A proof is valid for 60 s to either side of the
 * present, so it is too old 120 s after its use; the rest is a margin for clocks.
 */
const PROOF_STORED_S = 180;

/** What a user lets a program do at an API: its tokens are for this API alone (RFC 8707). */
export interface Delegation {
  /** `aud`. */
  readonly audience: string;
  readonly clientId: string;
  /** Separated by spaces. */
  readonly scope: string;
  /** Names of the claims that the API gets. */
  readonly claims: readonly string[];
}

export interface TokenContent {
  readonly authentication?: Authentication | undefined;
  /** Determines the `jti`, so only one token can be stored for it. */
  readonly proof?: DpopProof | undefined;
  /** Effective claims of the user. */
  readonly claims: Claims;
  /** Absent: a token of the application itself. */
  readonly delegation?: Delegation | undefined;
  /** The token expires then at the latest: seconds since the epoch. */
  readonly latest?: number | undefined;
}

@Injectable()
export class AccessTokens {
  constructor(
    private readonly keys: KeyRing,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Signs an access token for a session: ES256, `typ` at+jwt, claims of RFC 9068. */
  issue(
    { userId, sessionId, deviceId }: SessionIds,
    { authentication, proof, claims, delegation, latest = Infinity }: TokenContent,
  ): IssuedAccessToken {
    const { publicUrl, accessTokenTtl } = this.settings;
    const { header, privateKey } = this.keys.signer!;
    const jti = proof ? jtiFor(proof) : randomUUID();
    const iat = Math.floor(this.clock.now() / 1000);
    const exp = Math.floor(Math.min(iat + accessTokenTtl, latest));
    const device = deviceId === null ? {} : { device_id: deviceId };
    const token = signJwt(
      header,
      {
        iss: publicUrl,
        aud: delegation?.audience ?? publicUrl,
        sub: userId,
        sid: sessionId,
        ...device,
        client_id: delegation?.clientId ?? CLIENT_ID,
        ...(delegation && { scope: delegation.scope }),
        jti,
        iat,
        exp,
        ...authentication,
        // none has a name of the token (isClaimName)
        ...tokenMembers(delegation ? pickClaims(claims, delegation.claims) : claims),
      },
      privateKey,
    );
    const expiresAt = proof ? Math.max(exp, iat + PROOF_STORED_S) : exp;
    return { token, jti, exp, expiresAt, expiresIn: Math.max(0, exp - iat) };
  }
}

/** Derives the `jti` from a proof: SHA-256(thumbprint, `jti` of the proof), equal on all instances. */
function jtiFor({ jkt, jti }: DpopProof): string {
  return uuidOfHash(createHash('sha256').update(jkt).update(jti).digest());
}
