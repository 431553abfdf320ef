import { decodeJwt, errors, jwtVerify, type CryptoKey, type JWTHeaderParameters } from 'jose';
import { invalidToken, LatchkeyError } from '../latchkey-error.js';
import type { Settings } from '../options.js';
import type { KeySet } from './key-set.js';
import type { UserClaims } from './user-claims.js';

/** Characters; the service's tokens have about 600, and about 12,000 with the most claims. Node.js reads headers of 16 KiB. */
const MAX_TOKEN = 16_384;

/** Claims of a verified access token (RFC 9068). Ids are UUIDs, times are seconds since the epoch. */
export interface Claims extends UserClaims {
  /** The user's id. */
  readonly sub: string;
  /** The session's id. */
  readonly sid: string;
  /** The device's id, if the session has a device. */
  readonly device_id?: string;
  /** The token's own id. */
  readonly jti: string;
  /** `latchkey`, or the program that acts for the user. */
  readonly client_id?: string;
  /** The service's `PUBLIC_URL`. */
  readonly iss: string;
  /** `iss`, or the API that a program's token is for. */
  readonly aud: string;
  /** What the program may do, separated by spaces: see `requireScope()`. Tokens of your own pages have none. */
  readonly scope?: string;
  /** When and how the user authenticated, if the provider reports it (RFC 9068 §2.2.1). */
  readonly auth_time?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  /** Issued at. */
  readonly iat: number;
  /** Expires at. */
  readonly exp: number;
}

/** Whether a token is of the application itself, not of a program that acts for the user at one API. */
export const isOfApplication = ({ iss, aud }: Partial<Claims>): boolean => aud !== undefined && aud === iss;

export interface SignedToken {
  readonly claims: Claims;
  /** Id of the key that signed the token. */
  readonly kid: string;
}

/** Verifies everything about a token but its session (RFC 9068 §4). */
export class TokenSignature {
  constructor(
    private readonly keys: KeySet,
    private readonly settings: Pick<Settings, 'issuer' | 'audience' | 'clockTolerance'>,
  ) {}

  /** @throws LatchkeyError `invalid_token`; `temporarily_unavailable` if an unknown key cannot be fetched */
  async verify(token: string): Promise<SignedToken> {
    if (typeof token !== 'string' || token.length > MAX_TOKEN) throw invalid();
    try {
      const { issuer, audience, clockTolerance } = this.settings;
      const { payload, protectedHeader } = await jwtVerify(token, (header) => this.keyOf(header, token), {
        algorithms: ['ES256'],
        typ: 'at+jwt',
        issuer,
        audience: [...audience],
        clockTolerance,
        requiredClaims: ['exp'],
      });
      if (!isComplete(payload)) throw invalid();
      return { claims: payload, kid: protectedHeader.kid! };
    } catch (error) {
      throw error instanceof LatchkeyError ? error : toLatchkeyError(error);
    }
  }

  /** @throws LatchkeyError `invalid_token` if the token has expired since its signature was verified */
  refuseExpired({ claims: { exp } }: SignedToken): void {
    if (exp + this.settings.clockTolerance <= Date.now() / 1000) throw invalidToken(EXPIRED);
  }

  private keyOf({ kid }: JWTHeaderParameters, token: string): CryptoKey | Promise<CryptoKey> {
    if (typeof kid !== 'string') throw invalid();
    return this.keys.known(kid) ?? this.findKey(kid, token);
  }

  /** Fetches keys only for a token that may be valid: other tokens must not cause requests. */
  private async findKey(kid: string, token: string): Promise<CryptoKey> {
    const { issuer, clockTolerance } = this.settings;
    const { iss, exp } = decodeJwt(token);
    if (iss !== issuer) throw invalidToken(OTHER_ISSUER);
    if (typeof exp !== 'number' || exp + clockTolerance <= Date.now() / 1000) throw invalidToken(EXPIRED);
    if (this.keys.isRevoked(kid)) throw invalid();
    const key = await this.keys.find(kid);
    if (!key) throw invalid();
    return key;
  }
}

const EXPIRED = 'the access token has expired';
const OTHER_ISSUER = 'the access token is of another issuer';

const invalid = (): LatchkeyError => invalidToken('the access token is invalid');

function isComplete(payload: object): payload is Claims {
  const { sub, sid, jti, iat, exp } = payload as Record<string, unknown>;
  const hasIds = [sub, sid, jti].every((id) => typeof id === 'string');
  return hasIds && typeof iat === 'number' && typeof exp === 'number';
}

/** Without the cause: errors of jose contain the claims. */
function toLatchkeyError(error: unknown): LatchkeyError {
  const { code, claim } = error as { code?: string; claim?: string };
  if (code === errors.JWTExpired.code) return invalidToken(EXPIRED);
  if (claim === 'iss') return invalidToken(OTHER_ISSUER);
  return invalid();
}
