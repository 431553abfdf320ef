import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import type { Session } from '../../events.js';
import { uuidOfHash, UUID } from '../../http/parameters/uuid.js';
import type { DpopProof } from '../dpop/dpop-proof.js';
import { KeyService } from '../keys/key.service.js';
import { signJwt } from '../keys/sign-jwt.js';

/**
 * Whose token it is (RFC 9068 §2.2 asks for it): clients are not registered, and what one calls itself binds its code only, so
 * it says the same of all of them.
 */
export const CLIENT_ID = 'latchkey';

/** Claims of an access token (contract §5; RFC 9068 §2.2). Times are seconds since the epoch. */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly aud: string;
  /** The user. */
  readonly sub: string;
  /** The session. */
  readonly sid: string;
  readonly device_id?: string;
  readonly client_id: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}

/** The claims of a payload whose signature is verified, or undefined when it is not that of an access token of ours. */
export function readClaims(payload: unknown): AccessTokenClaims | undefined {
  const claims = payload as Partial<Record<keyof AccessTokenClaims, unknown>>;
  const { sub, sid, jti, device_id: deviceId, iat, exp } = claims;
  const ids = [sub, sid, jti, ...(deviceId === undefined ? [] : [deviceId])];
  if (!ids.every((id) => typeof id === 'string' && UUID.test(id))) return undefined;
  if (!Number.isInteger(iat) || !Number.isInteger(exp)) return undefined; // jsonwebtoken lets a token without exp pass
  return payload as AccessTokenClaims;
}

/** A signed access token that is not stored yet: it is valid only once its row is there. */
export interface IssuedAccessToken {
  readonly token: string;
  readonly jti: string;
  /** When its row expires: as it does itself or, with a proof, later. Seconds since the epoch. */
  readonly expiresAt: number;
  /** Lifetime in seconds. */
  readonly expiresIn: number;
}

/**
 * How long a row must show that its proof was used, in seconds. The proof's own window is 60 s to either side of the present, so
 * 120 s after its use it is refused for its age on every instance; the rest is for clocks that drift between two measurements.
 */
const PROOF_KEPT_S = 180;

@Injectable()
export class AccessTokens {
  constructor(
    private readonly keys: KeyService,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Signs an access token for a session: ES256, `typ` at+jwt, claims of RFC 9068 (contract §5), with the key and by the clock of
   * this moment.
   * @param proof that it is issued for, once: two tokens for the same proof have the same `jti`, and only one can be stored
   */
  issue({ userId, sessionId, deviceId }: Session, proof?: DpopProof): IssuedAccessToken {
    const { publicUrl, accessTokenTtl: expiresIn } = this.settings;
    const { header, privateKey } = this.keys.signing;
    const jti = proof ? jtiFor(proof) : randomUUID();
    const iat = Math.floor(this.clock.now() / 1000);
    const exp = iat + expiresIn;
    const device = deviceId === null ? {} : { device_id: deviceId };
    const token = signJwt(
      header,
      {
        iss: publicUrl,
        aud: publicUrl,
        sub: userId,
        sid: sessionId,
        ...device,
        client_id: CLIENT_ID,
        jti,
        iat,
        exp,
      },
      privateKey,
    );
    const expiresAt = proof ? Math.max(exp, iat + PROOF_KEPT_S) : exp;
    return { token, jti, expiresAt, expiresIn };
  }
}

/** SHA-256(thumbprint, the proof's own id): the same on every instance (contract §5), and never that of a token without a proof. */
function jtiFor({ jkt, jti }: DpopProof): string {
  return uuidOfHash(createHash('sha256').update(jkt).update(jti).digest());
}
